#include "generator.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "memory.h"

namespace kpt_torch {
namespace {

/* As on a GPU a generator is a seed and how far it has come, in 16 bytes: programs save them, and torch's DTensor sets
 * the second one itself. Kernels of extensions draw from Philox with the two. */
struct Place {
    uint64_t seed = c10::default_rng_seed_val;
    uint64_t offset = 0;
};

constexpr uint64_t ONE_OPERATOR = 4; /* torch's kernels draw four numbers at a time */

uint64_t mixed(uint64_t &state) { /* splitmix64 */
    state += 0x9e3779b97f4a7c15;
    uint64_t out = state;
    out = (out ^ (out >> 30)) * 0xbf58476d1ce4e5b9;
    out = (out ^ (out >> 27)) * 0x94d049bb133111eb;
    return out ^ (out >> 31);
}

/* The CPU's engine at a place. At the beginning of a seed it is that of the CPU's generator with this seed. */
at::mt19937 engine_at(const Place &place) {
    at::mt19937 engine(place.seed);
    if (!place.offset) return engine;
    at::mt19937_data_pod data = engine.data();
    uint64_t state = place.seed, first = mixed(state);
    state = first ^ place.offset;
    for (uint32_t &word : data.state_) word = uint32_t(mixed(state) >> 32);
    engine.set_data(data);
    return engine;
}

struct DeviceGenerator final : c10::GeneratorImpl {
    std::shared_ptr<Place> place;
    explicit DeviceGenerator(int device, std::shared_ptr<Place> from)
        : c10::GeneratorImpl({c10::kCUDA, c10::DeviceIndex(device)}, c10::DispatchKeySet(c10::DispatchKey::CUDA)),
          place(std::move(from)) {}
    void set_current_seed(uint64_t seed) override { *place = {seed, 0}; }
    void set_offset(uint64_t offset) override { place->offset = offset; }
    uint64_t get_offset() const override { return place->offset; }
    uint64_t current_seed() const override { return place->seed; }
    uint64_t seed() override {
        set_current_seed(c10::detail::getNonDeterministicRandom(true));
        return place->seed;
    }
    void set_state(const c10::TensorImpl &state) override {
        at::detail::check_rng_state(state);
        auto bytes = size_t(state.numel());
        TORCH_CHECK(bytes == sizeof(Place) || bytes == sizeof place->seed, "RNG state is wrong size");
        Place read;
        std::memcpy(&read, state.data(), bytes); /* the offset may be missing, as on a GPU */
        *place = read;
    }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
        at::Tensor whole = at::empty({int64_t(sizeof(Place))}, at::kByte);
        std::memcpy(whole.data_ptr(), place.get(), sizeof(Place));
        return whole.getIntrusivePtr();
    }
    void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl> &from) override {
        place = static_cast<const DeviceGenerator *>(from.get())->place;
    }
    c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
        return c10::make_intrusive<DeviceGenerator>(device().index(), place);
    }
    GeneratorImpl *clone_impl() const override {
        return new DeviceGenerator(device().index(), std::make_shared<Place>(*place));
    }
};

at::mt19937 next_engine(const at::Generator &generator) {
    auto *own = static_cast<DeviceGenerator *>(generator.unsafeGetGeneratorImpl());
    std::lock_guard<std::mutex> lock(own->mutex_);
    at::mt19937 engine = engine_at(*own->place);
    own->place->offset += ONE_OPERATOR;
    return engine;
}

at::CPUGeneratorImpl &of_cpu() {
    return *static_cast<at::CPUGeneratorImpl *>(at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl());
}

} // namespace

const at::Generator &default_generator(int device) {
    static auto *generators = [] {
        auto *made = new std::vector<at::Generator>;
        for (int index = 0; index < MOST_DEVICES; index++) made->push_back(new_generator(index));
        return made;
    }();
    return (*generators)[size_t(device)];
}

at::Generator new_generator(int device) {
    return at::make_generator<DeviceGenerator>(device, std::make_shared<Place>());
}

at::Generator drawn_from(const at::Generator &generator) {
    auto made = at::make_generator<at::CPUGeneratorImpl>();
    static_cast<at::CPUGeneratorImpl *>(made.unsafeGetGeneratorImpl())->set_engine(next_engine(generator));
    return made;
}

DrawFromDevice::DrawFromDevice(bool wanted, int device) : wanted_(wanted) {
    if (!wanted_) return;
    of_cpu_ = of_cpu().engine();
    of_cpu().set_engine(next_engine(default_generator(device)));
}

DrawFromDevice::~DrawFromDevice() {
    if (wanted_) of_cpu().set_engine(of_cpu_);
}

} // namespace kpt_torch
