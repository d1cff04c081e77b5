#pragma once

#include "runtime.h"

extern "C" void kpt_switch(void **save, void *to);

namespace kpt {

void take_threads(std::vector<Thread *> &into, size_t count);
void give_threads(std::vector<Thread *> &from);
void prepare_stack(Thread *thread, void (*entry)());

} // namespace kpt
