// What the kernels share: HIP's keywords without HIP's headers, waves of 32
// lanes, and sums whose order is fixed.
//
// Rules, which a test of the objects' metadata checks: sizes are arguments or
// constants, so that there are no hidden arguments and no dispatch packet; no
// scratch, no spilled registers.
//
// Contraction is off: a fused multiply-add is written as one. Then every target
// computes the same bits.

#pragma once

#define KERNEL(threads) \
    extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(threads, threads))) void
#define DEVICE __attribute__((device)) inline
#define SHARED __attribute__((shared))

typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef signed char int8;
typedef _Float16 half;
typedef half half2 __attribute__((ext_vector_type(2)));
typedef half half8 __attribute__((ext_vector_type(8)));
typedef half half16 __attribute__((ext_vector_type(16)));
typedef uint32 uint4 __attribute__((ext_vector_type(4)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float8 __attribute__((ext_vector_type(8)));

constexpr int WAVE = 32;

DEVICE int thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE int lane() { return thread() % WAVE; }
// The number of the wave in its block; the same in all lanes, which the
// compiler cannot know.
DEVICE int wave() { return __builtin_amdgcn_readfirstlane(thread() / WAVE); }
DEVICE int block_x() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE int block_y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEVICE int bits(float x) { return __builtin_bit_cast(int, x); }
DEVICE float number(int x) { return __builtin_bit_cast(float, x); }

// The value of the lane whose number differs in one bit. Within a row of 16
// lanes it is a modifier of the instruction that uses it (DPP row_xmask);
// between the two rows ds_swizzle, because clang 19 moves permlanex16 into
// divergent code, see permlane.hip.
template <int MASK> DEVICE float exchange(float x) {
    if constexpr (MASK == 16) {
        return number(__builtin_amdgcn_ds_swizzle(bits(x), 16 << 10 | 0x1f));
    } else {
        return number(__builtin_amdgcn_update_dpp(bits(x), bits(x), 0x160 | MASK, 0xf, 0xf, true));
    }
}

struct Sum {
    static DEVICE float join(float a, float b) { return a + b; }
    static constexpr float none = 0;
};
struct Max {
    static DEVICE float join(float a, float b) { return __builtin_fmaxf(a, b); }
    static constexpr float none = -__builtin_inff();
};

// Joins the values of a wave: neighbours first, then pairs of neighbours, and
// so on. All lanes get the result, with the same bits.
template <class OP> DEVICE float join_wave(float x) {
    x = OP::join(x, exchange<1>(x));
    x = OP::join(x, exchange<2>(x));
    x = OP::join(x, exchange<4>(x));
    x = OP::join(x, exchange<8>(x));
    x = OP::join(x, exchange<16>(x));
    return x;
}

// Joins the values of a block of WAVES waves: each wave, then the waves as
// join_wave does the lanes. part is LDS of WAVES floats that the block does not
// use otherwise; the barrier at the end leaves it free for the next call.
template <class OP, int WAVES> DEVICE float join_block(float x, float *part) {
    x = join_wave<OP>(x);
    if (lane() == 0)
        part[wave()] = x;
    barrier();
    x = join_wave<OP>(lane() < WAVES ? part[lane() % WAVES] : OP::none);
    barrier();
    return x;
}

// c plus the products of four signed bytes, exactly.
DEVICE int dot4(int a, int b, int c) {
#if defined(__GFX10__)
    return __builtin_amdgcn_sdot4(a, b, c, false);
#else
    return __builtin_amdgcn_sudot4(true, a, true, b, c, false);
#endif
}

// Four bytes at an address that need not be aligned.
DEVICE int load4(const uint8 *p) {
    int x;
    __builtin_memcpy(&x, p, 4);
    return x;
}
