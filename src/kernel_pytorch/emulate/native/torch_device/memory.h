/* Memory of the emulated GPU as torch sees it.
 *
 * Every block is an allocation of the emulated HIP runtime, so that kernels may use it and its bounds are known. Blocks
 * that are given back wait for the next request of the same size: a training step asks for the same sizes again.
 *
 * ATen's CPU kernels work on the same bytes through a twin: a second StorageImpl over a block that says "cpu". */
#ifndef KPT_TORCH_MEMORY_H
#define KPT_TORCH_MEMORY_H

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

#include <atomic>
#include <cstdint>

namespace kpt_torch {

constexpr int MOST_DEVICES = 16;

struct Block {
    void *data = nullptr;
    size_t bytes = 0;
    int device = 0;
    bool pinned = false;
    std::atomic<int> owners{1}; /* the storage, and its twin */
    c10::StorageImpl *twin = nullptr;
    Block *newer = nullptr, *older = nullptr; /* among those that wait, by age */
    Block *next = nullptr;                    /* of the same size */
};

struct MemoryFigures {
    int64_t allocated = 0, peak_allocated = 0, total_allocated = 0, total_freed = 0;
    int64_t reserved = 0, peak_reserved = 0;
    int64_t requested = 0, peak_requested = 0;
    int64_t count = 0, peak_count = 0, total_count = 0, freed_count = 0;
    int64_t segments = 0, peak_segments = 0, device_allocations = 0, device_frees = 0;
    int64_t retries = 0, out_of_memory = 0;
};

/* The block behind a data pointer of ours, or null. */
Block *block_of(const c10::DataPtr &pointer);

/* A "cpu" storage over the bytes of a "cuda" one. */
c10::Storage twin_of(const c10::Storage &storage);

/* A storage that a CPU kernel made in device memory becomes one of the device. */
void become_device(c10::StorageImpl &storage, int device);

/* While one lives, what the CPU's allocator gives on this thread is memory of that device. */
class DeviceMemoryForCpu {
public:
    explicit DeviceMemoryForCpu(int device);
    ~DeviceMemoryForCpu();
    DeviceMemoryForCpu(const DeviceMemoryForCpu &) = delete;
    DeviceMemoryForCpu &operator=(const DeviceMemoryForCpu &) = delete;

private:
    int before_;
};

c10::Allocator *device_allocator();
c10::Allocator *pinned_allocator();
bool is_pinned(const void *data);

MemoryFigures figures(int device);
void reset_peaks(int device);
void reset_totals(int device);
void empty_cache();
/* The part of the device's memory that this process may have. */
double &memory_fraction(int device);

void install_allocators();

} // namespace kpt_torch
#endif
