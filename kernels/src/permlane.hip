// An error of clang 19 (all of LLVM before 21): v_permlanex16 is not marked as
// convergent, so that it is moved into the branch that needs its result. There
// the other lanes are switched off, and it reads nothing from them. The build
// flag -disable-machine-sink and the empty asm each prevent it.
//
// sum_permlane is built twice: as all kernels are, and with BROKEN, without
// either. A test shows that the emulator tells the two apart.

#include "device.h"

// y[wave of the grid] = sum of 32 x
KERNEL(64) sum_permlane(float *__restrict__ y, const float *__restrict__ x) {
    float v = x[block_x() * 64 + thread()];
    v += exchange<1>(v);
    v += exchange<2>(v);
    v += exchange<4>(v);
    v += exchange<8>(v);
    int other = __builtin_amdgcn_permlanex16(bits(v), bits(v), 0x76543210, 0xfedcba98, false, false);
#ifndef BROKEN
    __asm__ volatile("" : "+v"(other));
#endif
    v += number(other);
    if (lane() == 0)
        y[block_x() * 2 + wave()] = v;
}
