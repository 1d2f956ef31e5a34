// An LSTM's steps in one launch: the recurrent weights stay in registers, and programs wait for each other.
//
// A program (256 threads) owns a slice of units and a block of 32 ranks (rows). Before the first step each warp loads
// its share of the slice's weights, as tensor cores want them; they stay there for all steps. A step is then: read the
// hidden states (forward) or the gates' gradients (backward) of the step before, multiply, add the warps' partial sums
// in shared memory, apply the gates, write, and tell the other programs of the same ranks by counting up.
//
// Within a sum the order of k is free as long as both sides agree. So a thread takes eight neighbours of a row at once
// (16 bytes), which serve two products of 16: its 4 × 2 values are what the fragments of m16n8k16 want.
//
// Programs of other ranks do not wait for each other. Those that share ranks are numbered consecutively, and a GPU
// starts programs in their order, so those that are waited for are running or will be.
//
// Given on compiling: UNITS, and TILES (1 or 2), the number of slices of 8 units that a program owns.

typedef unsigned int u32;
typedef unsigned short bf16;  // its bits

#define WARPS 8
#define RANKS 32
#define SLICE (8 * TILES)
#define CEIL(a, b) (((a) + (b) - 1) / (b))

struct Pair { float a, b; };

__device__ __forceinline__ Pair unpack(u32 two) { return {__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u)}; }

__device__ __forceinline__ u32 pack(float a, float b) {
  u32 two;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(b), "f"(a));
  return two;
}

__device__ __forceinline__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ __forceinline__ float tanh_of(float x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; }

// What another program wrote during this launch must not come from this core's own cache.
__device__ __forceinline__ uint4 read_shared_row(const bf16* at) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at) : "memory");
  return v;
}

__device__ __forceinline__ void multiply(float* sum, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// All threads have written what others wait for; say so.
__device__ __forceinline__ void arrive(u32* counter) {
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(counter) : "memory");
}

__device__ __forceinline__ void wait_until(const u32* counter, u32 target) {
  if (threadIdx.x == 0) {
    u32 seen;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory"); while (seen < target);
  }
  __syncthreads();
}

// Adds to `sums` the products of some rows with a warp's share of weights. `share` names the warp among `SHARES`.
template <int K, int GROUPS, int SHARES, int COLUMNS>
__device__ __forceinline__ void multiply_rows(
    float (&sums)[2][COLUMNS][4], const uint4 (&weights)[GROUPS][COLUMNS], const bf16* rows, int num_rows, int share) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int j = 0; j < GROUPS; j++) {
    const int k = (j * SHARES + share) * 32 + 8 * t;
    uint4 a[4];
#pragma unroll
    for (int part = 0; part < 4; part++) {
      const int row = part * 8 + g;
      a[part] = row < num_rows && k < K ? read_shared_row(rows + (long long)row * K + k) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
      for (int n = 0; n < COLUMNS; n++) {
        multiply(sums[m][n], a[2 * m].x, a[2 * m + 1].x, a[2 * m].y, a[2 * m + 1].y, weights[j][n].x, weights[j][n].y);
        multiply(sums[m][n], a[2 * m].z, a[2 * m + 1].z, a[2 * m].w, a[2 * m + 1].w, weights[j][n].z, weights[j][n].w);
      }
  }
}

// The recurrent weights in bf16, as they are and transposed: [4 UNITS, UNITS] and [UNITS, 4 UNITS].
extern "C" __global__ void cast_weights(const float* w_hh, bf16* as_is, bf16* transposed) {
  __shared__ float tile[32][33];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (int row = y; row < 32; row += 8) {
    const int r = blockIdx.y * 32 + row, c = blockIdx.x * 32 + x;
    if (r < 4 * UNITS && c < UNITS) {
      tile[row][x] = w_hh[(long long)r * UNITS + c];
      as_is[(long long)r * UNITS + c] = (bf16)pack(tile[row][x], 0.0f);
    }
  }
  __syncthreads();
  for (int row = y; row < 32; row += 8) {
    const int r = blockIdx.x * 32 + row, c = blockIdx.y * 32 + x;
    if (r < UNITS && c < 4 * UNITS) transposed[(long long)r * 4 * UNITS + c] = (bf16)pack(tile[x][row], 0.0f);
  }
}

// ---- forward ----------------------------------------------------------------------------------------------------

struct Opened { Pair i, f, g, o; };

// The gates' sums become gates; c moves on; returns h.
__device__ __forceinline__ Pair open_gates(Opened& x, Pair& c) {
  x.i = {sigmoid(x.i.a), sigmoid(x.i.b)};
  x.f = {sigmoid(x.f.a), sigmoid(x.f.b)};
  x.g = {tanh_of(x.g.a), tanh_of(x.g.b)};
  x.o = {sigmoid(x.o.a), sigmoid(x.o.b)};
  c = {x.f.a * c.a + x.i.a * x.g.a, x.f.b * c.b + x.i.b * x.g.b};
  return {x.o.a * tanh_of(c.a), x.o.b * tanh_of(c.b)};
}

__device__ __forceinline__ void read_gates(Opened& x, const bf16* at) {
  x.i = unpack(*(const u32*)at);
  x.f = unpack(*(const u32*)(at + UNITS));
  x.g = unpack(*(const u32*)(at + 2 * UNITS));
  x.o = unpack(*(const u32*)(at + 3 * UNITS));
}

__device__ __forceinline__ void write_gates(bf16* at, const Opened& x) {
  *(u32*)at = pack(x.i.a, x.i.b);
  *(u32*)(at + UNITS) = pack(x.f.a, x.f.b);
  *(u32*)(at + 2 * UNITS) = pack(x.g.a, x.g.b);
  *(u32*)(at + 3 * UNITS) = pack(x.o.a, x.o.b);
}

extern "C" __global__ void __launch_bounds__(256, 1) forward_steps(
    const bf16* gates, const bf16* w_hh, bf16* states, float* cells, bf16* opened, const int* offsets, u32* counters,
    int first, int last, int num_ranks) {
  constexpr int SHARES = WARPS / TILES, GROUPS = CEIL(CEIL(UNITS, 32), SHARES);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int share = warp % SHARES, tile = warp / SHARES;
  const int first_rank = blockIdx.y * RANKS;
  u32* counter = counters + blockIdx.y;

  uint4 weights[GROUPS][4];  // of each gate
  const int column = blockIdx.x * SLICE + tile * 8 + g;
#pragma unroll
  for (int j = 0; j < GROUPS; j++)
#pragma unroll
    for (int gate = 0; gate < 4; gate++) {
      const int k = (j * SHARES + share) * 32 + 8 * t;
      const bool inside = k < UNITS && column < UNITS;
      weights[j][gate] = inside ? *(const uint4*)(w_hh + (long long)(gate * UNITS + column) * UNITS + k) : make_uint4(0, 0, 0, 0);
    }

  // Each thread of the first 4 × TILES warps ends the sums of one rank and two units, and keeps their cells.
  const int part = warp % 4, own_tile = warp / 4;
  const int rank = first_rank + part * 8 + g, unit = blockIdx.x * SLICE + own_tile * 8 + 2 * t;
  const bool ends_sums = own_tile < TILES && unit < UNITS;
  __shared__ float4 partial[WARPS][4][2][32];
  Pair c = {0.0f, 0.0f};
  for (int step = first; step < last; step++) {
    const int begin = offsets[step], size = offsets[step + 1] - begin;
    if (size <= first_rank) break;
    const long long before = step ? num_ranks + offsets[step - 1] : 0, here = num_ranks + begin;
    const bool owns = ends_sums && rank < size;
    Opened x = {};
    if (owns) {
      read_gates(x, gates + (long long)(begin + rank) * 4 * UNITS + unit);
      if (step == first) {
        const float2 kept = *(const float2*)(cells + (before + rank) * UNITS + unit);
        c = {kept.x, kept.y};
      }
    }
    if (step > first) wait_until(counter, (step - first) * gridDim.x);
    float sums[2][4][4] = {};
    multiply_rows<UNITS, GROUPS, SHARES, 4>(sums, weights, states + (before + first_rank) * UNITS, size - first_rank, share);
#pragma unroll
    for (int p = 0; p < 4; p++) {
      const int m = p / 2, h = p % 2 * 2;
      partial[warp][p][0][lane] = make_float4(sums[m][0][h], sums[m][0][h + 1], sums[m][1][h], sums[m][1][h + 1]);
      partial[warp][p][1][lane] = make_float4(sums[m][2][h], sums[m][2][h + 1], sums[m][3][h], sums[m][3][h + 1]);
    }
    __syncthreads();
    if (owns) {
#pragma unroll
      for (int s = 0; s < SHARES; s++) {
        const float4 lo = partial[own_tile * SHARES + s][part][0][lane], hi = partial[own_tile * SHARES + s][part][1][lane];
        x.i.a += lo.x; x.i.b += lo.y; x.f.a += lo.z; x.f.b += lo.w;
        x.g.a += hi.x; x.g.b += hi.y; x.o.a += hi.z; x.o.b += hi.w;
      }
      const Pair h = open_gates(x, c);
      *(u32*)(states + (here + rank) * UNITS + unit) = pack(h.a, h.b);
    }
    arrive(counter);  // what follows nobody waits for
    if (owns) {
      *(float2*)(cells + (here + rank) * UNITS + unit) = make_float2(c.a, c.b);
      write_gates(opened + (long long)(begin + rank) * 4 * UNITS + unit, x);
    }
  }
}

// One step whose product was computed elsewhere and added to the gates.
extern "C" __global__ void forward_step(
    const bf16* gates, bf16* states, float* cells, bf16* opened, const int* offsets, int step, int num_ranks) {
  const int begin = offsets[step], size = offsets[step + 1] - begin;
  const int index = blockIdx.x * blockDim.x + threadIdx.x, rank = index / (UNITS / 2), unit = index % (UNITS / 2) * 2;
  if (rank >= size) return;
  const long long before = step ? num_ranks + offsets[step - 1] : 0, here = num_ranks + begin;
  Opened x;
  read_gates(x, gates + (long long)(begin + rank) * 4 * UNITS + unit);
  const float2 kept = *(const float2*)(cells + (before + rank) * UNITS + unit);
  Pair c = {kept.x, kept.y};
  const Pair h = open_gates(x, c);
  *(u32*)(states + (here + rank) * UNITS + unit) = pack(h.a, h.b);
  *(float2*)(cells + (here + rank) * UNITS + unit) = make_float2(c.a, c.b);
  write_gates(opened + (long long)(begin + rank) * 4 * UNITS + unit, x);
}

// ---- backward ---------------------------------------------------------------------------------------------------

// From the gradients of h and c those of the gates' sums; dc moves on to the step before.
__device__ __forceinline__ Opened close_gates(const Opened& x, Pair c, Pair c_before, Pair dh, Pair& dc) {
  const Pair th = {tanh_of(c.a), tanh_of(c.b)};
  dc = {dc.a + dh.a * x.o.a * (1.0f - th.a * th.a), dc.b + dh.b * x.o.b * (1.0f - th.b * th.b)};
  Opened d;
  d.i = {dc.a * x.g.a * x.i.a * (1.0f - x.i.a), dc.b * x.g.b * x.i.b * (1.0f - x.i.b)};
  d.f = {dc.a * c_before.a * x.f.a * (1.0f - x.f.a), dc.b * c_before.b * x.f.b * (1.0f - x.f.b)};
  d.g = {dc.a * x.i.a * (1.0f - x.g.a * x.g.a), dc.b * x.i.b * (1.0f - x.g.b * x.g.b)};
  d.o = {dh.a * th.a * x.o.a * (1.0f - x.o.a), dh.b * th.b * x.o.b * (1.0f - x.o.b)};
  dc = {dc.a * x.f.a, dc.b * x.f.b};
  return d;
}

__device__ __forceinline__ Pair read_pair(const float* at) {
  const float2 v = *(const float2*)at;
  return {v.x, v.y};
}

// w_t is the transpose of the recurrent weights, [units, gates].
extern "C" __global__ void __launch_bounds__(256, 1) backward_steps(
    const bf16* grad_outputs, const float* grad_hidden, float* running, const bf16* w_t, const float* cells,
    const bf16* opened, bf16* grad_gates, const int* offsets, u32* counters,
    int first, int last, int num_steps, int num_ranks) {
  constexpr int K = 4 * UNITS, GROUPS = CEIL(CEIL(K, 32), WARPS);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int first_rank = blockIdx.y * RANKS;
  u32* counter = counters + blockIdx.y;

  uint4 weights[GROUPS][TILES];
#pragma unroll
  for (int j = 0; j < GROUPS; j++)
#pragma unroll
    for (int n = 0; n < TILES; n++) {
      const int k = (j * WARPS + warp) * 32 + 8 * t, column = blockIdx.x * SLICE + n * 8 + g;
      weights[j][n] = k < K && column < UNITS ? *(const uint4*)(w_t + (long long)column * K + k) : make_uint4(0, 0, 0, 0);
    }

  const int part = warp % 4, own_tile = warp / 4;
  const int rank = first_rank + part * 8 + g, unit = blockIdx.x * SLICE + own_tile * 8 + 2 * t;
  const bool ends_sums = own_tile < TILES && unit < UNITS;
  const bool in_any = ends_sums && rank < num_ranks;
  __shared__ float2 partial[WARPS][4][TILES][32];
  Pair dc = {0.0f, 0.0f}, dh_last = {0.0f, 0.0f};
  if (in_any) {
    dc = read_pair(running + (long long)rank * UNITS + unit);
    dh_last = read_pair(grad_hidden + (long long)rank * UNITS + unit);
  }
  int done = 0;
  for (int step = last - 1; step >= first; step--) {
    const int begin = offsets[step], after = offsets[step + 1], size = after - begin;
    if (size <= first_rank) continue;
    const int size_after = step + 1 < num_steps ? offsets[step + 2] - after : 0;
    const long long before = step ? num_ranks + offsets[step - 1] : 0;
    const bool owns = ends_sums && rank < size;
    Opened x = {};
    Pair c = {}, c_before = {}, dh = {};
    if (owns) {
      read_gates(x, opened + (long long)(begin + rank) * 4 * UNITS + unit);
      c = read_pair(cells + (long long)(num_ranks + begin + rank) * UNITS + unit);
      c_before = read_pair(cells + (before + rank) * UNITS + unit);
      dh = unpack(*(const u32*)(grad_outputs + (long long)(begin + rank) * UNITS + unit));
      if (rank >= size_after) dh = {dh.a + dh_last.a, dh.b + dh_last.b};
    }
    if (size_after > first_rank) {
      if (done) wait_until(counter, done * gridDim.x);
      float sums[2][TILES][4] = {};
      multiply_rows<K, GROUPS, WARPS, TILES>(
          sums, weights, grad_gates + (long long)(after + first_rank) * K, size_after - first_rank, warp);
#pragma unroll
      for (int p = 0; p < 4; p++)
#pragma unroll
        for (int n = 0; n < TILES; n++)
          partial[warp][p][n][lane] = make_float2(sums[p / 2][n][p % 2 * 2], sums[p / 2][n][p % 2 * 2 + 1]);
      __syncthreads();
      if (owns) {
#pragma unroll
        for (int s = 0; s < WARPS; s++) {
          const float2 sum = partial[s][part][own_tile][lane];
          dh = {dh.a + sum.x, dh.b + sum.y};
        }
      }
    }
    if (owns) write_gates(grad_gates + (long long)(begin + rank) * 4 * UNITS + unit, close_gates(x, c, c_before, dh, dc));
    arrive(counter);
    done++;
  }
  if (in_any) *(float2*)(running + (long long)rank * UNITS + unit) = make_float2(dc.a, dc.b);
}

// One step; `product` is that of the gates' gradients of the step after with the recurrent weights, one row a rank.
extern "C" __global__ void backward_step(
    const bf16* product, const bf16* grad_outputs, const float* grad_hidden, float* running, const float* cells,
    const bf16* opened, bf16* grad_gates, const int* offsets, int step, int num_steps, int num_ranks) {
  const int begin = offsets[step], after = offsets[step + 1], size = after - begin;
  const int size_after = step + 1 < num_steps ? offsets[step + 2] - after : 0;
  const int index = blockIdx.x * blockDim.x + threadIdx.x, rank = index / (UNITS / 2), unit = index % (UNITS / 2) * 2;
  if (rank >= size) return;
  const long long own = (long long)rank * UNITS + unit, before = step ? num_ranks + offsets[step - 1] : 0;
  Opened x;
  read_gates(x, opened + (long long)(begin + rank) * 4 * UNITS + unit);
  const Pair c = read_pair(cells + (long long)(num_ranks + begin) * UNITS + own), c_before = read_pair(cells + before * UNITS + own);
  const Pair more = rank < size_after ? unpack(*(const u32*)(product + own)) : read_pair(grad_hidden + own);
  Pair dh = unpack(*(const u32*)(grad_outputs + (long long)begin * UNITS + own)), dc = read_pair(running + own);
  dh = {dh.a + more.a, dh.b + more.b};
  write_gates(grad_gates + (long long)(begin + rank) * 4 * UNITS + unit, close_gates(x, c, c_before, dh, dc));
  *(float2*)(running + own) = make_float2(dc.a, dc.b);
}
