/* libtorch_hip: the random numbers of extensions' own kernels.
 *
 * A generator of "cuda" is the torch device's. Its class is another one than at::CUDAGeneratorImpl, which an extension
 * casts it to; so everything here goes through the functions that both share by virtue of being generators. */
#include <ATen/hip/HIPGeneratorImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace at {
namespace {

/* torch's kernels draw four numbers at a time. */
uint64_t rounded(uint64_t increment) { return (increment + 3) / 4 * 4; }

uint64_t advance(c10::GeneratorImpl &generator, uint64_t increment) {
    uint64_t before = generator.get_offset();
    generator.set_offset(before + rounded(increment));
    return before;
}

c10::DeviceIndex device_or_current(c10::DeviceIndex device) {
    return device < 0 ? c10::impl::getDeviceGuardImpl(kCUDA)->getDevice().index() : device;
}

} // namespace

c10::DeviceType CUDAGeneratorImpl::device_type() { return kCUDA; }

PhiloxCudaState CUDAGeneratorImpl::philox_cuda_state(uint64_t increment) {
    c10::GeneratorImpl &generator = *this;
    uint64_t seed = generator.current_seed();
    return PhiloxCudaState(seed, advance(generator, increment));
}

std::pair<uint64_t, uint64_t> CUDAGeneratorImpl::philox_engine_inputs(uint64_t increment) {
    c10::GeneratorImpl &generator = *this;
    uint64_t seed = generator.current_seed();
    return {seed, advance(generator, increment)};
}

uint64_t CUDAGeneratorImpl::philox_offset_per_thread() const {
    const c10::GeneratorImpl &generator = *this;
    return generator.get_offset();
}

void CUDAGeneratorImpl::set_philox_offset_per_thread(uint64_t offset) {
    c10::GeneratorImpl &generator = *this;
    generator.set_offset(offset);
}

namespace cuda::detail {

const Generator &getDefaultCUDAGenerator(DeviceIndex device) {
    return at::globalContext().defaultGenerator(Device(kCUDA, device_or_current(device)));
}

Generator createCUDAGenerator(DeviceIndex device) {
    return at::globalContext().getAcceleratorHooksInterface(kCUDA).getNewGenerator(device_or_current(device));
}

} // namespace cuda::detail
} // namespace at
