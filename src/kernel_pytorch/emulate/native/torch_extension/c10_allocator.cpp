/* libc10_hip: the allocator that extensions ask for, in front of the torch device's own. */
#include <c10/core/Allocator.h>
#include <c10/hip/HIPCachingAllocator.h>

#include <mutex>
#include <unordered_map>

namespace c10 {
C10_DEFINE_REGISTRY(FreeCudaMemoryCallbacksRegistry, FreeMemoryCallback)
}

namespace c10::cuda::CUDACachingAllocator {
namespace {

[[noreturn]] void not_emulated(const char *what) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, what, " is not there on an emulated GPU");
}

struct EmulatedAllocator final : CUDAAllocator {
    std::mutex mutex;
    std::unordered_map<void *, DataPtr> raw;

    static Allocator *inner() { return c10::GetAllocator(DeviceType::CUDA); }
    static DeviceAllocator *figures() {
        auto *found = dynamic_cast<DeviceAllocator *>(inner());
        if (!found) not_emulated("memory statistics from C++ (torch.cuda.memory_stats() has them)");
        return found;
    }

    DataPtr allocate(size_t bytes) override { return inner()->allocate(bytes); }
    DeleterFnPtr raw_deleter() const override { return &CUDACachingAllocator::raw_delete; }
    void copy_data(void *to, const void *from, size_t bytes) const override {
        C10_CUDA_CHECK(hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice));
    }
    bool initialized() override { return true; }
    void emptyCache(MempoolId_t pool) override {
        if (auto *found = dynamic_cast<DeviceAllocator *>(inner())) found->emptyCache(pool);
    }
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex device) override {
        return figures()->getDeviceStats(device);
    }
    void resetAccumulatedStats(DeviceIndex device) override { figures()->resetAccumulatedStats(device); }
    void resetPeakStats(DeviceIndex device) override { figures()->resetPeakStats(device); }

    void *raw_alloc(size_t bytes) override {
        if (bytes == 0) return nullptr;
        DataPtr made = inner()->allocate(bytes);
        void *place = made.get();
        std::lock_guard<std::mutex> lock(mutex);
        raw.emplace(place, std::move(made));
        return place;
    }
    void *raw_alloc_with_stream(size_t bytes, hipStream_t) override { return raw_alloc(bytes); }
    void raw_delete(void *place) override {
        std::lock_guard<std::mutex> lock(mutex);
        raw.erase(place);
    }
    void init(int) override {}
    double getMemoryFraction(DeviceIndex) override { return 1.0; }
    void setMemoryFraction(double, DeviceIndex) override { not_emulated("setMemoryFraction from C++"); }
    std::vector<StreamSegmentSize> getExpandableSegmentSizes(DeviceIndex) override { return {}; }
    void enable(bool) override {}
    bool isEnabled() const override { return true; }
    void cacheInfo(DeviceIndex device, size_t *largest) override { *largest = getMemoryInfo(device).first; }
    void *getBaseAllocation(void *place, size_t *bytes) override {
        hipDeviceptr_t base = nullptr;
        size_t found = 0;
        C10_CUDA_CHECK(hipMemGetAddressRange(&base, &found, place));
        if (bytes) *bytes = found;
        return base;
    }
    /* A block goes back to its pool only when the streams that use it are done: they run in order of their calls. */
    void recordStream(const DataPtr &, CUDAStream) override {}
    SnapshotInfo snapshot(MempoolId_t, bool) override { return {}; }
    void beginAllocateToPool(DeviceIndex, MempoolId_t, std::function<bool(hipStream_t)>) override {}
    void endAllocateToPool(DeviceIndex, MempoolId_t) override {}
    void releasePool(DeviceIndex, MempoolId_t) override {}
    ShareableHandle shareIpcHandle(void *) override { not_emulated("shareIpcHandle"); }
    std::shared_ptr<void> getIpcDevPtr(std::string) override { not_emulated("getIpcDevPtr"); }
    bool isHistoryEnabled() override { return false; }
    void recordHistory(bool, CreateContextFn, size_t, RecordContext, bool, const std::vector<std::string> &) override {
        not_emulated("the history of allocations");
    }
    void attachOutOfMemoryObserver(OutOfMemoryObserver) override { not_emulated("attachOutOfMemoryObserver"); }
    void attachOomRejectionObserver(OomRejectionObserver) override { not_emulated("attachOomRejectionObserver"); }
    void attachAllocatorTraceTracker(AllocatorTraceTracker) override { not_emulated("attachAllocatorTraceTracker"); }
    void enablePeerAccess(DeviceIndex from, DeviceIndex to) override {
        (void)from, (void)to; /* device memory is memory of this process: every device reaches it */
    }
    hipError_t memcpyAsync(void *to, int, const void *from, int, size_t bytes, hipStream_t stream, bool) override {
        return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
    }
    std::shared_ptr<AllocatorState> getCheckpointState(DeviceIndex, MempoolId_t) override {
        not_emulated("getCheckpointState");
    }
    CheckpointDelta setCheckpointPoolState(DeviceIndex, std::shared_ptr<AllocatorState>) override {
        not_emulated("setCheckpointPoolState");
    }
    std::string name() override { return "emulated"; }
};

EmulatedAllocator &emulated() {
    static EmulatedAllocator *one = new EmulatedAllocator;
    return *one;
}

} // namespace

std::atomic<CUDAAllocator *> allocator{&emulated()};

} // namespace c10::cuda::CUDACachingAllocator
