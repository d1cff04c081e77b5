#include "memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/flat_hash_map.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include "blocks_by_page.h"
#include "device.h"
#include "hip.h"
#include "pinned_places.h"
#include "stream_uses.h"

namespace kpt_torch {
namespace {

constexpr int64_t COUNTED_STEP = 512; /* torch's allocator rounds up to this, and its figures show it */
constexpr int64_t MOST_WAITING_BYTES = int64_t(1) << 30;
constexpr int64_t MOST_WAITING_BLOCKS = 6000;

/* Blocks of one device, or of pinned host memory. */
struct Pool {
    std::mutex mutex;
    ska::flat_hash_map<size_t, Block *> waiting; /* by size: a list */
    Block *newest = nullptr, *oldest = nullptr;
    int64_t waiting_bytes = 0, waiting_blocks = 0;
    double fraction = 1.0;
    MemoryFigures figures;
};

Pool &pool(int device) {
    static Pool *pools = new Pool[MOST_DEVICES + 1];
    return pools[device];
}

constexpr int PINNED = MOST_DEVICES;

BlocksByPage blocks_by_page; /* zero at the start, and only touched where memory is */

int64_t counted(size_t bytes) { return (int64_t(bytes) + COUNTED_STEP - 1) / COUNTED_STEP * COUNTED_STEP; }

void unlink(Pool &p, Block *block) {
    (block->newer ? block->newer->older : p.newest) = block->older;
    (block->older ? block->older->newer : p.oldest) = block->newer;
    Block **at = &p.waiting[block->bytes];
    while (*at != block) at = &(*at)->next;
    *at = block->next;
    p.waiting_bytes -= counted(block->bytes);
    p.waiting_blocks--;
    block->newer = block->older = block->next = nullptr;
}

void give_back(Pool &p, Block *block) {
    if (block->pinned) {
        std::lock_guard<std::mutex> lock(pinned_places().mutex);
        pinned_places().places.erase(uintptr_t(block->data));
        hipHostFree(block->data);
    } else
        hipFree(block->data);
    blocks_by_page.set(block->data, nullptr);
    p.figures.reserved -= counted(block->bytes);
    p.figures.segments--;
    p.figures.device_frees++;
    delete block;
}

void empty(Pool &p) {
    while (p.oldest) {
        Block *block = p.oldest;
        unlink(p, block);
        give_back(p, block);
    }
}

std::string size_text(double bytes) {
    const char *units[] = {"bytes", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (bytes >= 1024 && unit < 3) bytes /= 1024, unit++;
    char text[64];
    snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

[[noreturn]] void out_of_memory(Pool &p, size_t bytes, int device) {
    size_t free_bytes = 0, total = 0;
    hipMemGetInfo(&free_bytes, &total);
    p.figures.out_of_memory++;
    int64_t allocated = p.figures.allocated, waiting = p.waiting_bytes;
    TORCH_CHECK_WITH(OutOfMemoryError, false, "HIP out of memory. Tried to allocate ", size_text(double(bytes)),
                     ". GPU ", device, " has a total capacity of ", size_text(double(total)), " of which ",
                     size_text(double(free_bytes)), " is free. Of the allocated memory ", size_text(double(allocated)),
                     " is allocated by PyTorch, and ", size_text(double(waiting)),
                     " is reserved by PyTorch but unallocated. (An emulated GPU: memory is that of this machine.)");
}

void *from_runtime(Pool &p, size_t bytes, int device, bool pinned) {
    void *data = nullptr;
    if (pinned) {
        check_hip(hipHostMalloc(&data, bytes, 0));
        std::lock_guard<std::mutex> lock(pinned_places().mutex);
        pinned_places().places[uintptr_t(data)] = bytes;
        return data;
    }
    /* A thread that was on another device stays there. */
    int before = current_device();
    if (before != device) hipSetDevice(device);
    bool allowed = true;
    if (p.fraction < 1.0) {
        size_t free_bytes = 0, total = 0;
        hipMemGetInfo(&free_bytes, &total);
        allowed = double(p.figures.reserved) + double(bytes) <= p.fraction * double(total);
    }
    int error = allowed ? hipMalloc(&data, bytes) : int(HIP_OUT_OF_MEMORY);
    if (error == HIP_OUT_OF_MEMORY) {
        hipGetLastError();
        p.figures.retries++;
        empty(p);
        if (allowed) error = hipMalloc(&data, bytes);
    }
    if (error == HIP_OUT_OF_MEMORY) hipGetLastError();
    if (before != device) hipSetDevice(before);
    if (error == HIP_OUT_OF_MEMORY) out_of_memory(p, bytes, device);
    check_hip(error);
    return data;
}

Block *take(size_t bytes, int device, bool pinned) {
    Pool &p = pool(pinned ? PINNED : device);
    std::lock_guard<std::mutex> lock(p.mutex);
    Block *block = nullptr;
    auto found = p.waiting.find(bytes);
    if (found != p.waiting.end() && found->second) {
        block = found->second;
        unlink(p, block);
        block->owners.store(1, std::memory_order_relaxed);
    } else {
        void *data = from_runtime(p, bytes, device, pinned);
        block = new Block;
        block->data = data;
        block->bytes = bytes;
        block->device = device;
        block->pinned = pinned;
        blocks_by_page.set(data, block);
        MemoryFigures &f = p.figures;
        f.reserved += counted(bytes);
        f.peak_reserved = std::max(f.peak_reserved, f.reserved);
        f.peak_segments = std::max(f.peak_segments, ++f.segments);
        f.device_allocations++;
    }
    MemoryFigures &f = p.figures;
    f.allocated += counted(bytes);
    f.total_allocated += counted(bytes);
    f.requested += int64_t(bytes);
    f.total_count++;
    f.peak_count = std::max(f.peak_count, ++f.count);
    f.peak_allocated = std::max(f.peak_allocated, f.allocated);
    f.peak_requested = std::max(f.peak_requested, f.requested);
    if (C10_UNLIKELY(watches_writes()) && !pinned) kptHostWrites(block->data, bytes, 1);
    return block;
}

void put(Block *block) {
    Pool &p = pool(block->pinned ? PINNED : block->device);
    std::lock_guard<std::mutex> lock(p.mutex);
    MemoryFigures &f = p.figures;
    f.allocated -= counted(block->bytes);
    f.total_freed += counted(block->bytes);
    f.requested -= int64_t(block->bytes);
    f.count--;
    f.freed_count++;
    block->next = p.waiting[block->bytes];
    p.waiting[block->bytes] = block;
    block->older = p.newest;
    block->newer = nullptr;
    (p.newest ? p.newest->newer : p.oldest) = block;
    p.newest = block;
    p.waiting_bytes += counted(block->bytes);
    p.waiting_blocks++;
    while (p.waiting_bytes > MOST_WAITING_BYTES || p.waiting_blocks > MOST_WAITING_BLOCKS) {
        Block *old = p.oldest;
        unlink(p, old);
        give_back(p, old);
    }
}

void disown(Block *block) {
    if (block->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (C10_UNLIKELY(watches_streams())) note_put(*block);
    put(block);
}

/* The twin's data pointer goes, with the twin or because a kernel resized it. */
void delete_twin(void *context) { disown(static_cast<Block *>(context)); }

void delete_block(void *data) {
    Block *block = blocks_by_page.find(data);
    if (c10::StorageImpl *twin = block->twin) {
        block->twin = nullptr;
        c10::intrusive_ptr<c10::StorageImpl>::reclaim(twin); /* dropped here */
    }
    disown(block);
}

c10::DataPtr pointer_to(size_t bytes, int device, bool pinned, c10::Device shown) {
    if (!bytes) return {nullptr, shown};
    Block *block = take(bytes, device, pinned);
    if (C10_UNLIKELY(watches_streams())) note_taken(*block);
    return {block->data, block->data, &delete_block, shown};
}

struct DeviceAllocator final : c10::DeviceAllocator {
    c10::DataPtr allocate(size_t bytes) override {
        int device = current_device();
        return pointer_to(bytes, device, false, {c10::kCUDA, c10::DeviceIndex(device)});
    }
    void copy_data(void *to, const void *from, size_t bytes) const override { memcpy(to, from, bytes); }
    bool initialized() override { return true; }
    void emptyCache(c10::MempoolId_t) override { empty_cache(); }
    void recordStream(const c10::DataPtr &data, c10::Stream stream) override { note_record_stream(data, stream); }
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
        MemoryFigures f = figures(device);
        c10::CachingDeviceAllocator::DeviceStats stats;
        auto set = [](c10::CachingAllocator::StatArray &all, int64_t current, int64_t peak, int64_t in, int64_t out) {
            auto &stat = all[size_t(c10::CachingAllocator::StatType::AGGREGATE)];
            stat.current = current, stat.peak = peak, stat.allocated = in, stat.freed = out;
        };
        set(stats.allocation, f.count, f.peak_count, f.total_count, f.freed_count);
        set(stats.segment, f.segments, f.peak_segments, f.device_allocations, f.device_frees);
        set(stats.active, f.count, f.peak_count, f.total_count, f.freed_count);
        set(stats.allocated_bytes, f.allocated, f.peak_allocated, f.total_allocated, f.total_freed);
        set(stats.active_bytes, f.allocated, f.peak_allocated, f.total_allocated, f.total_freed);
        set(stats.requested_bytes, f.requested, f.peak_requested, f.total_allocated, f.total_freed);
        set(stats.reserved_bytes, f.reserved, f.peak_reserved, f.reserved, 0);
        stats.num_alloc_retries = f.retries;
        stats.num_ooms = f.out_of_memory;
        return stats;
    }
    void resetAccumulatedStats(c10::DeviceIndex device) override { reset_totals(device); }
    void resetPeakStats(c10::DeviceIndex device) override { reset_peaks(device); }
    /* Newer versions of torch ask this way. */
    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) {
        size_t free_bytes = 0, total = 0;
        check_hip(hipMemGetInfo(&free_bytes, &total));
        return {free_bytes, total};
    }
};

struct PinnedAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override { return pointer_to(bytes, 0, true, {c10::kCPU}); }
    void copy_data(void *to, const void *from, size_t bytes) const override { memcpy(to, from, bytes); }
};

thread_local int device_for_cpu = -1;

c10::Allocator *usual_cpu_allocator = nullptr;

/* What was allocated inside an operator may be given back outside, and the other way round. */
void delete_raw(void *data) {
    if (blocks_by_page.find(data))
        delete_block(data);
    else
        usual_cpu_allocator->raw_deleter()(data);
}

/* The CPU's allocator. Inside an operator of the device it gives memory of the device. */
struct SwitchedAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override {
        if (C10_LIKELY(device_for_cpu < 0)) return usual_cpu_allocator->allocate(bytes);
        return pointer_to(bytes, device_for_cpu, false, {c10::kCPU});
    }
    c10::DeleterFnPtr raw_deleter() const override { return &delete_raw; }
    void copy_data(void *to, const void *from, size_t bytes) const override { memcpy(to, from, bytes); }
};

/* What a twin is resized with. Its device is the one that the resizing operator works on. */
struct TwinAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override {
        int device = device_for_cpu >= 0 ? device_for_cpu : current_device();
        return pointer_to(bytes, device, false, {c10::kCPU});
    }
    void copy_data(void *to, const void *from, size_t bytes) const override { memcpy(to, from, bytes); }
};

DeviceAllocator *the_device_allocator() {
    static auto *allocator = new DeviceAllocator;
    return allocator;
}

TwinAllocator *twin_allocator() {
    static auto *allocator = new TwinAllocator;
    return allocator;
}

} // namespace

Block *block_of(const c10::DataPtr &pointer) {
    return pointer.get_deleter() == &delete_block ? blocks_by_page.find(pointer.get_context()) : nullptr;
}

c10::Storage twin_of(const c10::Storage &storage) {
    c10::StorageImpl *real = storage.unsafeGetStorageImpl();
    const c10::DataPtr &data = real->data_ptr();
    Block *block = block_of(data);
    if (block && block->twin) {
        if (C10_UNLIKELY(block->twin->nbytes() != real->nbytes())) block->twin->set_nbytes(real->nbytes());
        return c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(block->twin));
    }
    if (block && block->data == data.get()) {
        block->owners.fetch_add(1, std::memory_order_relaxed);
        auto twin = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), real->nbytes(),
                                                          c10::DataPtr(block->data, block, &delete_twin, {c10::kCPU}),
                                                          twin_allocator(), true);
        /* Two threads may get here with one tensor: the first twin stays. */
        c10::StorageImpl *none = nullptr;
        c10::StorageImpl *made = twin.get();
        if (__atomic_compare_exchange_n(&block->twin, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            c10::raw::intrusive_ptr::incref(made);
        return c10::Storage(std::move(twin));
    }
    /* Memory that somebody else gave to torch (from_blob, DLPack): the real storage stays alive as long as the twin. */
    auto *kept = new c10::Storage(storage);
    auto forget = [](void *context) { delete static_cast<c10::Storage *>(context); };
    return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), real->nbytes(),
        c10::DataPtr(const_cast<void *>(data.get()), kept, forget, {c10::kCPU}), twin_allocator(), true));
}

void become_device(c10::StorageImpl &storage, int device) {
    storage._mutable_data_ptr_no_checks().unsafe_set_device({c10::kCUDA, c10::DeviceIndex(device)});
    storage.set_allocator(the_device_allocator());
}

DeviceMemoryForCpu::DeviceMemoryForCpu(int device) : before_(device_for_cpu) { device_for_cpu = device; }
DeviceMemoryForCpu::~DeviceMemoryForCpu() { device_for_cpu = before_; }

c10::Allocator *device_allocator() { return the_device_allocator(); }

c10::Allocator *pinned_allocator() {
    static auto *allocator = new PinnedAllocator;
    return allocator;
}

bool is_pinned(const void *data) { return pinned_places().hold(data); }

MemoryFigures figures(int device) {
    std::lock_guard<std::mutex> lock(pool(device).mutex);
    return pool(device).figures;
}

void reset_peaks(int device) {
    std::lock_guard<std::mutex> lock(pool(device).mutex);
    MemoryFigures &f = pool(device).figures;
    f.peak_allocated = f.allocated, f.peak_reserved = f.reserved, f.peak_requested = f.requested;
    f.peak_count = f.count, f.peak_segments = f.segments;
}

void reset_totals(int device) {
    std::lock_guard<std::mutex> lock(pool(device).mutex);
    MemoryFigures &f = pool(device).figures;
    f.total_allocated = f.total_freed = f.total_count = f.freed_count = 0;
    f.device_allocations = f.device_frees = f.retries = f.out_of_memory = 0;
}

void empty_cache() {
    for (int device = 0; device < MOST_DEVICES; device++) {
        std::lock_guard<std::mutex> lock(pool(device).mutex);
        empty(pool(device));
    }
}

double &memory_fraction(int device) { return pool(device).fraction; }

void install_allocators() {
    static auto *switched = new SwitchedAllocator;
    if (!usual_cpu_allocator) usual_cpu_allocator = c10::GetCPUAllocator();
    constexpr uint8_t OVER_ALL = 200;
    c10::SetCPUAllocator(switched, OVER_ALL);
    c10::SetAllocator(c10::kCUDA, the_device_allocator(), OVER_ALL);
}

} // namespace kpt_torch
