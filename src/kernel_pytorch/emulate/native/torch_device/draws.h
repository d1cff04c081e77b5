/* Random numbers that a kernel of the CPU draws without an argument for a generator. */
#ifndef KPT_TORCH_DRAWS_H
#define KPT_TORCH_DRAWS_H

#include <ATen/CPUGeneratorImpl.h>

#include "device.h"

namespace kpt_torch {

/* Draws from the device's default generator what a kernel draws from the CPU's. */
class DrawFromDevice {
public:
    DrawFromDevice(bool wanted, int device) : wanted_(wanted), device_(device) {
        if (wanted_) swap();
    }
    ~DrawFromDevice() {
        if (wanted_) swap();
    }
    DrawFromDevice(const DrawFromDevice &) = delete;
    DrawFromDevice &operator=(const DrawFromDevice &) = delete;

private:
    void swap() {
        at::Generator ours = drawn_from(default_generator(device_));
        auto *a = static_cast<at::CPUGeneratorImpl *>(ours.unsafeGetGeneratorImpl());
        auto *b = static_cast<at::CPUGeneratorImpl *>(at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl());
        at::mt19937 engine = a->engine();
        a->set_engine(b->engine());
        b->set_engine(engine);
    }
    bool wanted_;
    int device_;
};

} // namespace kpt_torch
#endif
