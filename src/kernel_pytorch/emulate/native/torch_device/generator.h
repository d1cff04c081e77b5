/* Random numbers of the emulated GPU. */
#ifndef KPT_TORCH_GENERATOR_H
#define KPT_TORCH_GENERATOR_H

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>

namespace kpt_torch {

const at::Generator &default_generator(int device);
at::Generator new_generator(int device);

/* A generator of the CPU, from which one operator may draw for one of the device. That one moves on. */
at::Generator drawn_from(const at::Generator &generator);

/* While one lives, what a kernel draws from the CPU's default generator comes from that of the device. */
class DrawFromDevice {
public:
    DrawFromDevice(bool wanted, int device);
    ~DrawFromDevice();
    DrawFromDevice(const DrawFromDevice &) = delete;
    DrawFromDevice &operator=(const DrawFromDevice &) = delete;

private:
    bool wanted_;
    at::mt19937 of_cpu_;
};

} // namespace kpt_torch
#endif
