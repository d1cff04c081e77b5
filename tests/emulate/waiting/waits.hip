// Programs in which a kernel waits for something outside it. Each mode checks its own result.
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#define OK(call) do { hipError_t e_ = (call); if (e_ != hipSuccess) { printf("%s: %s\n", #call, hipGetErrorName(e_)); exit(3); } } while (0)

__global__ void wait_then_write(volatile int *flag, int *out) {
    if (threadIdx.x == 0) while (*flag == 0) {}
    __syncthreads();
    out[threadIdx.x] = *flag + int(threadIdx.x);
}
__global__ void store(volatile int *flag, int value) { *flag = value; }
__global__ void counted_wait(volatile int *flag, unsigned long long *rounds) {
    unsigned long long n = 0;
    while (*flag == 0) n++;
    *rounds = n;
}
__global__ void ping(volatile int *ball, int me, int rounds) {
    for (int i = 0; i < rounds; i++) {
        while (*ball != me) {}
        *ball = 1 - me;
    }
}
__global__ void meet(int *counter, int devices, int rounds, int *log, int me) {
    for (int r = 1; r <= rounds; r++) {
        if (threadIdx.x == 0) {
            log[me * rounds + r - 1] = __hip_atomic_load(counter, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) / devices;
            __hip_atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
            while (__hip_atomic_load(counter, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) < devices * r) {}
        }
        __syncthreads();
    }
}

__global__ void together(int *log, int grids, int rounds) { // what all grids wrote before a barrier is there after it
    auto all = cooperative_groups::this_multi_grid();
    const int me = all.grid_rank();
    for (int r = 1; r <= rounds; r++) {
        if (blockIdx.x == 0 && threadIdx.x == 0) log[me] = r;
        all.sync();
        int sum = 0;
        for (int g = 0; g < grids; g++) sum += ((volatile int *)log)[g];
        if (sum != r * grids || all.num_grids() != unsigned(grids)) log[grids] = 1;
        all.sync();
    }
}
__global__ void wait_then_add(volatile int *flag, int *sum, const int *values) {
    while (*flag == 0) {}
    *sum = values[0] + values[1];
}
__global__ void fill_then_store(int *values, volatile int *flag) {
    values[0] = 4;
    values[1] = 5;
    __threadfence_system();
    *flag = 1;
}

static int check(const char *name, bool good) { printf("%s %s\n", name, good ? "right" : "WRONG"); return good ? 0 : 1; }

static int host_flag(bool managed) {
    int *flag, *out, got[64];
    if (managed) OK(hipMallocManaged((void **)&flag, 4)); else OK(hipHostMalloc((void **)&flag, 4, hipHostMallocMapped));
    *flag = 0;
    OK(hipMalloc((void **)&out, sizeof got));
    wait_then_write<<<1, 64>>>(flag, out);
    hipEvent_t after;
    OK(hipEventCreate(&after));
    OK(hipEventRecord(after, 0));
    bool not_ready = hipEventQuery(after) == hipErrorNotReady && hipStreamQuery(0) == hipErrorNotReady;
    *(volatile int *)flag = 5;
    OK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
    OK(hipEventQuery(after));
    bool good = not_ready;
    for (int i = 0; i < 64; i++) good = good && got[i] == 5 + i;
    OK(hipFree(out));
    return check(managed ? "managed" : "mapped", good);
}

static int streams() {
    int *ball;
    OK(hipMalloc((void **)&ball, 4));
    OK(hipMemset(ball, 0, 4));
    hipStream_t a, b;
    OK(hipStreamCreate(&a));
    OK(hipStreamCreate(&b));
    ping<<<1, 1, 0, a>>>(ball, 0, 50);
    ping<<<1, 1, 0, b>>>(ball, 1, 50);
    OK(hipDeviceSynchronize());
    int last = 7;
    OK(hipMemcpy(&last, ball, 4, hipMemcpyDeviceToHost));
    return check("streams", last == 0);
}

static int behind() { // what is given to the stream while its kernel waits
    int *flag, *out, *copy, *sum;
    OK(hipHostMalloc((void **)&flag, 4, 0));
    *flag = 0;
    OK(hipMalloc((void **)&out, 256));
    OK(hipMalloc((void **)&copy, 256));
    OK(hipHostMalloc((void **)&sum, 256, 0));
    hipStream_t a, b;
    OK(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    hipEvent_t done;
    OK(hipEventCreate(&done));
    int early[64];
    for (int i = 0; i < 64; i++) early[i] = 100 + i;
    wait_then_write<<<1, 64, 0, a>>>(flag, out);
    OK(hipMemcpyAsync(copy, out, 256, hipMemcpyDeviceToDevice, a));
    OK(hipMemcpyAsync(out, early, 256, hipMemcpyHostToDevice, a));
    OK(hipEventRecord(done, a));
    for (int i = 0; i < 64; i++) early[i] = -1; // pageable memory was taken already
    OK(hipStreamWaitEvent(b, done, 0));
    OK(hipMemcpyAsync(sum, out, 256, hipMemcpyDeviceToHost, b));
    static std::atomic<int> called{0};
    OK(hipLaunchHostFunc(b, [](void *) { called = 1; }, nullptr));
    bool good = called == 0 && hipStreamQuery(b) == hipErrorNotReady;
    OK(hipStreamDestroy(a)); // goes when its work is done
    *(volatile int *)flag = 3;
    OK(hipStreamSynchronize(b));
    good = good && called == 1;
    int got[64];
    OK(hipMemcpy(got, copy, 256, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) good = good && got[i] == 3 + i && sum[i] == 100 + i;
    return check("behind", good);
}

static int counted() {
    int *flag; unsigned long long *rounds;
    OK(hipHostMalloc((void **)&flag, 4, 0));
    OK(hipHostMalloc((void **)&rounds, 8, 0));
    *flag = 0;
    counted_wait<<<1, 1>>>(flag, rounds);
    *(volatile int *)flag = 1;
    OK(hipDeviceSynchronize());
    return check("counted", *rounds > 0);
}

static int mailbox() { // the host waits for each answer without a call
    volatile int *box;
    OK(hipHostMalloc((void **)&box, 4, 0));
    *box = 0;
    ping<<<1, 1>>>(box, 1, 20);
    for (int i = 0; i < 20; i++) { *box = 1; while (*box != 0) {} }
    OK(hipDeviceSynchronize());
    return check("mailbox", true);
}

static int devices() {
    int count = 0, *counter, *log;
    OK(hipGetDeviceCount(&count));
    OK(hipMallocManaged((void **)&counter, 4));
    OK(hipMallocManaged((void **)&log, 4 * count * 8));
    *counter = 0;
    for (int d = 0; d < count; d++) { OK(hipSetDevice(d)); meet<<<1, 64>>>(counter, count, 8, log, d); }
    for (int d = 0; d < count; d++) { OK(hipSetDevice(d)); OK(hipDeviceSynchronize()); }
    bool good = count == 2 && *counter == count * 8;
    for (int d = 0; d < count; d++) for (int r = 0; r < 8; r++) good = good && log[d * 8 + r] == r;
    return check("devices", good);
}

static int multi_device() {
    int count = 0, *log;
    OK(hipGetDeviceCount(&count));
    OK(hipMallocManaged((void **)&log, 4 * (count + 1)));
    log[count] = 0;
    int rounds = 5;
    void *arguments[] = {&log, &count, &rounds};
    hipLaunchParams list[8] = {};
    for (int d = 0; d < count; d++) {
        OK(hipSetDevice(d));
        hipStream_t stream;
        OK(hipStreamCreate(&stream));
        list[d] = {(void *)together, dim3(2), dim3(64), arguments, 0, stream};
    }
    OK(hipLaunchCooperativeKernelMultiDevice(list, count, 0));
    for (int d = 0; d < count; d++) OK(hipStreamSynchronize(list[d].stream));
    bool good = count == 2 && log[count] == 0;
    for (int d = 0; d < count; d++) good = good && log[d] == rounds;
    return check("multi_device", good);
}

// One kernel writes values that another one, which began before it, reads. `flag` tells when; or only the host does.
static int consumer(bool tells) {
    int *flag, *other, *values, *sum, got = 0;
    OK(hipHostMalloc((void **)&flag, 4, 0));
    OK(hipMalloc((void **)&other, 4));
    OK(hipMalloc((void **)&values, 8));
    OK(hipMalloc((void **)&sum, 4));
    *flag = 0;
    hipStream_t a, b;
    OK(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    wait_then_add<<<1, 1, 0, a>>>(flag, sum, values);
    fill_then_store<<<1, 1, 0, b>>>(values, tells ? flag : other);
    *(volatile int *)flag = 1; // before b is known to have ended
    OK(hipDeviceSynchronize());
    OK(hipMemcpy(&got, sum, 4, hipMemcpyDeviceToHost));
    return check(tells ? "told" : "untold", got == 9);
}

static int graph() {
    int *flag, *out, got[64];
    OK(hipHostMalloc((void **)&flag, 4, 0));
    OK(hipMalloc((void **)&out, 256));
    hipStream_t s, other;
    OK(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    OK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    hipGraph_t g; hipGraphExec_t exec;
    OK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    wait_then_write<<<1, 64, 0, s>>>(flag, out);
    store<<<1, 1, 0, s>>>(out + 1, 77);
    OK(hipStreamEndCapture(s, &g));
    OK(hipGraphInstantiate(&exec, g, nullptr, nullptr, 0));
    bool good = true;
    for (int r = 1; r <= 3; r++) {
        *flag = 0;
        OK(hipGraphLaunch(exec, s));
        OK(hipMemcpyAsync(got, out, 0, hipMemcpyDeviceToHost, s));
        store<<<1, 1, 0, other>>>(flag, r);
        OK(hipStreamSynchronize(s));
        OK(hipMemcpy(got, out, 256, hipMemcpyDeviceToHost));
        for (int i = 0; i < 64; i++) good = good && got[i] == (i == 1 ? 77 : r + i);
    }
    OK(hipGraphExecDestroy(exec));
    return check("graph", good);
}

static int value() {
    int *word, *out, got[64];
    OK(hipMalloc((void **)&word, 8));
    OK(hipMemset(word, 0, 8));
    OK(hipMalloc((void **)&out, 256));
    hipStream_t a, b;
    OK(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    OK(hipStreamWaitValue32(a, word, 9, hipStreamWaitValueEq, 0xffffffff));
    wait_then_write<<<1, 64, 0, a>>>(word, out);
    bool good = hipStreamQuery(a) == hipErrorNotReady;
    OK(hipStreamWriteValue32(b, word, 9, 0));
    OK(hipStreamSynchronize(a));
    OK(hipMemcpy(got, out, 256, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) good = good && got[i] == 9 + i;
    return check("value", good);
}

static int thread() { // one thread of the program waits, another writes later
    int *flag, *out;
    OK(hipHostMalloc((void **)&flag, 4, 0));
    OK(hipHostMalloc((void **)&out, 256, 0));
    *flag = 0;
    wait_then_write<<<1, 64>>>(flag, out);
    std::thread later([&] { timespec t{0, 200000000}; nanosleep(&t, nullptr); *(volatile int *)flag = 4; });
    OK(hipDeviceSynchronize());
    later.join();
    return check("thread", out[1] == 5);
}

static int deadlock() {
    int *flag, *out;
    OK(hipHostMalloc((void **)&flag, 4, 0));
    OK(hipMalloc((void **)&out, 256));
    *flag = 0;
    wait_then_write<<<1, 64>>>(flag, out);
    printf("deadlock %s\n", hipGetErrorName(hipDeviceSynchronize()));
    return 0;
}

static int left() { // never waited for
    int *flag, *out;
    OK(hipHostMalloc((void **)&flag, 4, 0));
    OK(hipMalloc((void **)&out, 256));
    *flag = 0;
    wait_then_write<<<1, 64>>>(flag, out);
    return check("left", true);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        auto is = [&](const char *name) { return !strcmp(argv[i], name); };
        int bad = is("mapped") ? host_flag(false) : is("managed") ? host_flag(true) : is("streams") ? streams() : is("behind") ? behind()
                : is("counted") ? counted() : is("mailbox") ? mailbox() : is("devices") ? devices() : is("graph") ? graph()
                : is("multi_device") ? multi_device() : is("told") ? consumer(true) : is("untold") ? consumer(false) : is("value") ? value() : is("thread") ? thread() : is("deadlock") ? deadlock() : is("left") ? left() : 2;
        fflush(stdout);
        if (bad) return bad;
    }
}
