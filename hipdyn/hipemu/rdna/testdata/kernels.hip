// Kernels that exercise the emulator: each target compiles them to its own
// instructions, and all must give the same bits (matrix products apart).
#define global __attribute__((global))
#define device __attribute__((device))
#define shared __attribute__((shared))
#define constant __attribute__((constant))
#define block(n) __attribute__((amdgpu_flat_work_group_size(n, n)))
#define KERNEL(n) extern "C" global block(n) void

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef _Float16 half;
typedef half half2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));

static device inline int item() { return __builtin_amdgcn_workitem_id_x(); }
static device inline int group() { return __builtin_amdgcn_workgroup_id_x(); }
static device inline void barrier() {
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define ID (group() * 64 + item())

KERNEL(64) add(float *out, const float *a, const float *b, int n) {
	int i = ID;
	if (i < n) out[i] = a[i] + b[i];
}

// Floats: division, roots, rounding, conversions.
KERNEL(64) floats(float *out, const float *a, const float *b, int n) {
	int i = ID;
	if (i >= n) return;
	float x = a[i], y = b[i];
	float *o = out + 16 * i;
	o[0] = x / y;
	o[1] = __builtin_fmaf(x, y, 1.5f);
	o[2] = __builtin_fminf(x, y);
	o[3] = __builtin_fmaxf(x, y);
	o[4] = __builtin_floorf(x);
	o[5] = __builtin_ceilf(x);
	o[6] = __builtin_rintf(x);
	o[7] = __builtin_truncf(x);
	o[8] = (float)(int)x;
	o[9] = (float)(u32)__builtin_fabsf(y);
	o[10] = (float)(half)x;
	o[11] = x > y ? x - y : -(x * y);
	o[12] = __builtin_ldexpf(x, (int)y & 31);
	o[13] = __builtin_copysignf(x, y);
	o[14] = __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f);
	o[15] = __builtin_roundf(x) + (float)__builtin_isnan(x * y);
}

// Whose last bits hardware does not promise.
KERNEL(64) transcendental(float *out, const float *a, int n) {
	int i = ID;
	if (i >= n) return;
	float x = a[i];
	float *o = out + 8 * i;
	o[0] = __builtin_expf(x);
	o[1] = __builtin_logf(x * x + 1.0f);
	o[2] = __builtin_sqrtf(x * x);
	o[3] = __builtin_amdgcn_rsqf(x * x + 0.5f);
	o[4] = __builtin_amdgcn_sinf(x * 0.125f);
	o[5] = __builtin_amdgcn_cosf(x * 0.125f);
	o[6] = __builtin_amdgcn_rcpf(x * x + 0.25f);
	o[7] = x / (1.0f + __builtin_exp2f(-x));
}

KERNEL(64) doubles(double *out, const double *a, const double *b, int n) {
	int i = ID;
	if (i >= n) return;
	double x = a[i], y = b[i];
	double *o = out + 8 * i;
	o[0] = x + y;
	o[1] = x * y - 3.0;
	o[2] = x / y;
	o[3] = __builtin_fma(x, y, x);
	o[4] = __builtin_floor(x) + __builtin_rint(y);
	o[5] = (double)(int)x;
	o[6] = (double)(float)y;
	o[7] = x < y ? x : y;
}

// Integers: division, shifts, wide products, bits.
KERNEL(64) integers(u32 *out, const u32 *a, const u32 *b, int n) {
	int i = ID;
	if (i >= n) return;
	u32 x = a[i], y = b[i];
	u32 *o = out + 24 * i;
	o[0] = x / (y | 1);
	o[1] = x % (y | 1);
	o[2] = (u32)((int)x / (int)(y | 1));
	o[3] = (u32)((int)x % (int)(y | 1));
	o[4] = x << (y & 31) | x >> (32 - (y & 31) & 31);
	o[5] = (u32)((int)x >> (y & 31));
	o[6] = __builtin_popcount(x) + __builtin_clz(x | 1) + __builtin_ctz(y | 0x80000000u);
	o[7] = __builtin_bitreverse32(x);
	u64 p = (u64)x * y;
	o[8] = (u32)(p >> 32);
	o[9] = (u32)p;
	i64 q = (i64)(int)x * (int)y + (i64)x;
	o[10] = (u32)(q >> 17);
	u64 z = (u64)x << 32 | y;
	o[11] = (u32)(z / (x | 3));
	o[12] = (u32)(z % (y | 5));
	o[13] = (u32)(z >> (x & 63));
	o[14] = x > y ? x : y;
	o[15] = (u32)((int)x < (int)y ? (int)x : (int)y);
	o[16] = __builtin_amdgcn_perm(x, y, 0x07020501);
	o[17] = __builtin_amdgcn_alignbit(x, y, 13);
	o[18] = __builtin_amdgcn_ubfe(x, 5, 11);
	o[19] = (u32)__builtin_amdgcn_sbfe((int)x, 7, 9);
	o[20] = __builtin_amdgcn_sad_u8(x, y, 77);
	o[21] = (x & y) | (~x & 0x0f0f0f0f);
	o[22] = (x + y) * 3 + (x ^ y);
	o[23] = __builtin_bswap32(x) + (u32)(i8)y + (u32)(short)x;
}

KERNEL(64) longs(u64 *out, const u64 *a, const u64 *b, int n) {
	int i = ID;
	if (i >= n) return;
	u64 x = a[i], y = b[i];
	u64 *o = out + 10 * i;
	o[0] = x + y;
	o[1] = x - y;
	o[2] = x * y;
	o[3] = x / (y | 1);
	o[4] = (u64)((i64)x / (i64)(y | 1));
	o[5] = x << (y & 63);
	o[6] = (u64)((i64)x >> (y & 63));
	o[7] = x < y ? x : y;
	o[8] = (i64)x < (i64)y ? y : x;
	o[9] = (u64)__builtin_popcountll(x) | (x == y) | (u64)(float)x;
}

KERNEL(64) halves(half *out, const half *a, const half *b, int n) {
	int i = ID;
	if (i >= n) return;
	half x = a[i], y = b[i];
	half *o = out + 8 * i;
	o[0] = x + y;
	o[1] = x * y;
	o[2] = (half)__builtin_fmaf16(x, y, x);
	o[3] = x < y ? x : y;
	o[4] = (half)(short)x;
	o[5] = -x;
	half2 v = {x, y}, w = {y, (half)2};
	half2 s = v * w + v;
	o[6] = s.x;
	o[7] = s.y;
}

KERNEL(64) bytes(u8 *out, const i8 *a, const u8 *b, const u16 *c, int n) {
	int i = ID;
	if (i >= n) return;
	int s = a[i] * 3 + b[i];
	out[4 * i] = (u8)(s >> 2);
	out[4 * i + 1] = (u8)(c[i] >> 3);
	*(u16 *)(out + 4 * i + 2) = (u16)(c[i] * 5 + (short)a[i]);
}

// A sum over the work-group through LDS.
KERNEL(256) sum(float *out, const float *a, int n) {
	shared float part[256];
	int t = item();
	float s = 0;
	for (int i = group() * 256 + t; i < n; i += 256 * 4) s += a[i];
	part[t] = s;
	for (int k = 128; k > 0; k >>= 1) {
		barrier();
		if (t < k) part[t] += part[t + k];
	}
	if (t == 0) out[group()] = part[0];
}

template <int ctrl> static device inline float dpp(float x) {
	return __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, x), ctrl, 15, 15, true));
}

// A sum over the wave by DPP, and what else moves lanes.
KERNEL(64) lanes(u32 *out, const float *a, int n) {
	int i = ID;
	float x = i < n ? a[i] : 0;
	x += dpp<0xb1>(x);  // quad_perm 1,0,3,2
	x += dpp<0x4e>(x);  // quad_perm 2,3,0,1
	x += dpp<0x141>(x); // row_half_mirror
	x += dpp<0x140>(x); // row_mirror
	int b = __builtin_bit_cast(int, x);
	x += __builtin_bit_cast(float, __builtin_amdgcn_ds_swizzle(b, 0x401f)); // swap 16
	u32 *o = out + 12 * i;
	o[0] = __builtin_bit_cast(u32, x);
	o[1] = __builtin_amdgcn_ds_bpermute((item() * 7 & 31) * 4, i);
	o[2] = __builtin_amdgcn_readlane(i, 5);
	o[3] = __builtin_amdgcn_readfirstlane(i);
	o[4] = __builtin_amdgcn_ballot_w32(a[i < n ? i : 0] > 0.5f);
	o[5] = __builtin_amdgcn_mbcnt_lo(0x55aa33cc, 0);
	o[6] = __builtin_amdgcn_permlane16(0, i, 0x76543210, 0xfedcba98, true, false);
	o[7] = __builtin_amdgcn_permlanex16(0, i, 0x01234567, 0x89abcdef, true, false);
	o[8] = __builtin_amdgcn_mov_dpp8(i, 0xfac688);
	o[9] = __builtin_amdgcn_update_dpp(77, i, 0x113, 15, 15, false); // row_shr 3
	o[10] = __builtin_amdgcn_update_dpp(78, i, 0x125, 15, 5, false); // row_ror 5, some banks
	o[11] = __builtin_amdgcn_ds_permute((item() * 5 & 31) * 4, i);
}

// Atomic operations on global memory and LDS.
KERNEL(64) atomics(u32 *out, u64 *wide, float *f, int n) {
	shared u32 count;
	shared u32 histogram[16];
	int t = item();
	if (t == 0) count = 0;
	if (t < 16) histogram[t] = 0;
	barrier();
	__hip_atomic_fetch_add(&histogram[t * 5 % 16], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
	__hip_atomic_fetch_max(&count, (u32)t * 3 % 50, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
	barrier();
	__hip_atomic_fetch_add(out, histogram[t % 16], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	__hip_atomic_fetch_min((int *)out + 1, t - 20, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	__hip_atomic_fetch_or(out + 2, 1u << (t & 31), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	__hip_atomic_fetch_xor(out + 3, (u32)t * 77, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	__hip_atomic_fetch_add(wide, (u64)t << 30, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	__hip_atomic_fetch_max(wide + 1, (u64)t * 0x100000001, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	u32 old = 0;
	while (!__hip_atomic_compare_exchange_strong(out + 4, &old, old + 3, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) ;
	__hip_atomic_fetch_add(f, 0.25f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	if (t == 0) __hip_atomic_fetch_add(out + 5, count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	__hip_atomic_exchange(out + 6, 9u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

constant int primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
device int counter = 5;

KERNEL(64) tables(int *out, const int *a, int n) {
	int i = ID;
	if (i < n) out[i] = primes[a[i] & 15] * counter;
}

// Control flow that diverges, and a switch.
KERNEL(64) branches(int *out, const int *a, int n) {
	int i = ID;
	if (i >= n) return;
	int x = a[i], steps = 0;
	if (x < 1) x = 1 - x;
	while (x != 1 && steps < 200) {
		x = x & 1 ? 3 * x + 1 : x / 2;
		steps++;
	}
	switch (a[i] & 7) {
	case 0: steps += 100; break;
	case 1: steps *= 3; break;
	case 2: steps -= 7;
	case 3: steps ^= 0x55; break;
	case 6: for (int k = 0; k < (i & 3); k++) steps += k * x; break;
	default: steps = -steps;
	}
	out[i] = steps;
}

// An array that is indexed by what is not known before: scratch.
KERNEL(64) scratch(int *out, const int *a, int n) {
	int i = ID;
	if (i >= n) return;
	int box[24];
	for (int k = 0; k < 24; k++) box[k] = k * a[i];
	for (int k = 0; k < 24; k++) box[(k * 7 + a[i]) % 24u] += box[(k + 5) % 24u];
	int s = 0;
	for (int k = 0; k < 24; k++) s = s * 31 + box[k];
	out[i] = s;
}

// Sizes that the runtime supplies.
extern "C" global void sizes(u32 *out) {
	if (item() == 0 && __builtin_amdgcn_workitem_id_y() == 0) {
		u32 g = group() + 3 * __builtin_amdgcn_workgroup_id_y();
		out[4 * g] = __builtin_amdgcn_workgroup_size_x();
		out[4 * g + 1] = __builtin_amdgcn_workgroup_size_y();
		out[4 * g + 2] = __builtin_amdgcn_grid_size_x();
		out[4 * g + 3] = g;
	}
}

extern shared float dynamic[];

// A transposition through LDS of a size that the launch gives.
KERNEL(256) transpose(float *out, const float *a, int n) {
	int x = item() & 15, y = item() >> 4;
	int gx = group(), gy = __builtin_amdgcn_workgroup_id_y();
	dynamic[y * 17 + x] = a[(gy * 16 + y) * n + gx * 16 + x];
	barrier();
	out[(gx * 16 + y) * n + gy * 16 + x] = dynamic[x * 17 + y];
}

struct q8 { half d; i8 q[32]; };

// q8_0 times q8_0.
KERNEL(64) q8dot(float *out, const q8 *w, const q8 *x, int blocks) {
	int t = item();
	float s = 0;
	for (int b = t; b < blocks; b += 64) {
		const q8 *p = w + group() * blocks + b;
		int acc = 0;
		for (int k = 0; k < 32; k += 4) {
			int u, v;
			__builtin_memcpy(&u, p->q + k, 4);
			__builtin_memcpy(&v, x[b].q + k, 4);
#if defined(__GFX11__) || defined(__GFX12__)
			acc = __builtin_amdgcn_sudot4(true, u, true, v, acc, false);
#else
			acc = __builtin_amdgcn_sdot4(u, v, acc, false);
#endif
		}
		s += (float)p->d * (float)x[b].d * (float)acc;
	}
	shared float part[64];
	part[t] = s;
	barrier();
	if (t == 0) {
		float r = 0;
		for (int k = 0; k < 64; k++) r += part[k];
		out[group()] = r;
	}
}

KERNEL(64) softmax(float *out, const float *a, int n) {
	shared float part[64];
	int t = item();
	const float *row = a + group() * n;
	float m = -__builtin_inff();
	for (int i = t; i < n; i += 64) m = __builtin_fmaxf(m, row[i]);
	part[t] = m;
	barrier();
	for (int k = 0; k < 64; k++) m = __builtin_fmaxf(m, part[k]);
	barrier();
	float s = 0;
	for (int i = t; i < n; i += 64) s += __builtin_amdgcn_exp2f((row[i] - m) * 1.44269504f);
	part[t] = s;
	barrier();
	s = 0;
	for (int k = 0; k < 64; k++) s += part[k];
	for (int i = t; i < n; i += 64) out[group() * n + i] = __builtin_amdgcn_exp2f((row[i] - m) * 1.44269504f) / s;
}

// Sorts 64 numbers, a bitonic network in LDS.
KERNEL(64) sort(u32 *data) {
	shared u32 box[64];
	int t = item();
	box[t] = data[group() * 64 + t];
	for (int k = 2; k <= 64; k *= 2)
		for (int j = k / 2; j > 0; j /= 2) {
			barrier();
			int o = t ^ j;
			u32 x = box[t], y = box[o];
			barrier();
			bool up = (t & k) == 0;
			box[t] = (t < o) == up ? (x < y ? x : y) : (x < y ? y : x);
		}
	data[group() * 64 + t] = box[t];
}

// Exclusive prefix sums of 256 numbers.
KERNEL(256) scan(u32 *out, const u32 *a) {
	shared u32 box[2][256];
	int t = item(), from = 0;
	box[0][t] = t ? a[group() * 256 + t - 1] : 0;
	for (int k = 1; k < 256; k *= 2) {
		barrier();
		u32 x = box[from][t];
		if (t >= k) x += box[from][t - k];
		from ^= 1;
		box[from][t] = x;
	}
	out[group() * 256 + t] = box[from][t];
}

KERNEL(64) packed(u32 *out, const u32 *a, const u32 *b, int n) {
	typedef short short2 __attribute__((ext_vector_type(2)));
	typedef u16 ushort2 __attribute__((ext_vector_type(2)));
	int i = ID;
	if (i >= n) return;
	short2 x = __builtin_bit_cast(short2, a[i]), y = __builtin_bit_cast(short2, b[i]);
	ushort2 ux = __builtin_bit_cast(ushort2, a[i]), uy = __builtin_bit_cast(ushort2, b[i]);
	u32 *o = out + 6 * i;
	o[0] = __builtin_bit_cast(u32, x + y);
	o[1] = __builtin_bit_cast(u32, x * y + x);
	o[2] = __builtin_bit_cast(u32, __builtin_elementwise_max(x, y));
	o[3] = __builtin_bit_cast(u32, __builtin_elementwise_min(ux, uy));
	o[4] = __builtin_bit_cast(u32, x >> (short2)3);
	o[5] = __builtin_bit_cast(u32, __builtin_elementwise_sub_sat(ux, uy));
}

static device __attribute__((noinline)) float helper(float x, int n) {
	for (int i = 0; i < n; i++) x = x * 0.5f + (float)i;
	return x;
}

// A call through a register.
KERNEL(64) calls(float *out, const float *a, int n) {
	int i = ID;
	if (i < n) out[i] = helper(a[i], i & 7) + helper(a[i] * 2, 3);
}

KERNEL(64) vectors(float4 *out, const float4 *a, const float4 *b, int n) {
	int i = ID;
	if (i >= n) return;
	float4 x = a[i], y = b[i];
	out[i] = x * y + x.wzyx - y * 0.5f;
}

#if defined(__GFX11__) || defined(__GFX12__)
typedef half half16 __attribute__((ext_vector_type(16)));
typedef half half8 __attribute__((ext_vector_type(8)));
typedef short short16 __attribute__((ext_vector_type(16)));
typedef short short8 __attribute__((ext_vector_type(8)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef int int8 __attribute__((ext_vector_type(8)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef int int2v __attribute__((ext_vector_type(2)));

#if defined(__GFX12__)
#define ROW(l, v) (8 * ((l) / 16) + (v))
#else
#define ROW(l, v) (2 * (v) + (l) / 16)
#endif

// D = A * B^T of 16 by 16 matrices in rows.
KERNEL(32) wmma(float *out, const half *a, const half *b) {
	int l = item(), r = l & 15;
	float8 c = {};
#if defined(__GFX12__)
	half8 x, y;
	for (int k = 0; k < 8; k++) { x[k] = a[r * 16 + 8 * (l / 16) + k]; y[k] = b[r * 16 + 8 * (l / 16) + k]; }
	c = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, c);
#else
	half16 x, y;
	for (int k = 0; k < 16; k++) { x[k] = a[r * 16 + k]; y[k] = b[r * 16 + k]; }
	c = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, c);
#endif
	for (int v = 0; v < 8; v++) out[ROW(l, v) * 16 + r] = c[v];
}

KERNEL(32) wmma_bf16(float *out, const short *a, const short *b) {
	int l = item(), r = l & 15;
	float8 c = {1, 1, 1, 1, 1, 1, 1, 1};
#if defined(__GFX12__)
	short8 x, y;
	for (int k = 0; k < 8; k++) { x[k] = a[r * 16 + 8 * (l / 16) + k]; y[k] = b[r * 16 + 8 * (l / 16) + k]; }
	c = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(x, y, c);
#else
	short16 x, y;
	for (int k = 0; k < 16; k++) { x[k] = a[r * 16 + k]; y[k] = b[r * 16 + k]; }
	c = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x, y, c);
#endif
	for (int v = 0; v < 8; v++) out[ROW(l, v) * 16 + r] = c[v];
}

KERNEL(32) wmma_iu8(int *out, const i8 *a, const u8 *b) {
	int l = item(), r = l & 15;
	int8 c = {};
#if defined(__GFX12__)
	int2v x = *(const int2v *)(a + r * 16 + 8 * (l / 16)), y = *(const int2v *)(b + r * 16 + 8 * (l / 16));
	c = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, x, false, y, c, false);
#else
	int4v x = *(const int4v *)(a + r * 16), y = *(const int4v *)(b + r * 16);
	c = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x, false, y, c, false);
#endif
	for (int v = 0; v < 8; v++) out[ROW(l, v) * 16 + r] = c[v];
}
#endif
