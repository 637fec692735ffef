// Kernels with mistakes that the emulator has to find.
#define global __attribute__((global))
#define shared __attribute__((shared))
#define KERNEL extern "C" global __attribute__((amdgpu_flat_work_group_size(64, 64))) void
static __attribute__((device)) inline int item() { return __builtin_amdgcn_workitem_id_x(); }
static __attribute__((device)) inline void barrier() {
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define ID (__builtin_amdgcn_workgroup_id_x() * 64 + item())

KERNEL copy(float *out, const float *a, int n) {
	int i = ID;
	if (i < n) out[i] = a[i];
}

// Whoever launches it has to give the right grid.
KERNEL copyAll(float *out, const float *a) { out[ID] = a[ID]; }

// Neighbours, through LDS: reads what another wave writes.
KERNEL noBarrier(float *out, const float *a) {
	shared float box[64];
	box[item()] = a[item()];
	out[item()] = box[63 - item()];
}

KERNEL withBarrier(float *out, const float *a) {
	shared float box[64];
	box[item()] = a[item()];
	barrier();
	out[item()] = box[63 - item()];
}

KERNEL unwrittenLDS(float *out, const float *a) {
	shared float box[128];
	box[item()] = a[item()];
	barrier();
	out[item()] = box[item() + 1];
}

// One wave leaves, the other goes on from barrier to barrier until it is told
// to stop.
KERNEL lostBarrier(float *out) {
	if (__builtin_amdgcn_readfirstlane(item()) == 0) {
		while (__hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 1.0f) barrier();
	}
	barrier();
	barrier();
}

// The last lanes of a partial sum are moved by permlane, behind a branch: LLVM
// before 21 sinks the moves into the branch unless told not to.
KERNEL sunk(float *out, const float *a) {
	shared float part[2];
	float o = a[item()];
	o += __builtin_bit_cast(float, __builtin_amdgcn_permlanex16(0, __builtin_bit_cast(int, o), 0x76543210, 0xfedcba98, false, false));
	int lane = item() & 31, wave = item() >> 5;
	if (lane == 0) part[wave] = o;
	barrier();
	if (item() == 0) out[0] = part[0] + part[1];
}
