// An ILP64 OpenBLAS (PyPI's scipy-openblas64, or the one inside NumPy's wheel), loaded when first asked for.
#pragma once

#include <string>

#include "numbers.h"

namespace kpt {

// The Fortran routine `name` ("dgemm"), or null when no such library or routine is there.
void *host_routine(const std::string &name);

// host_routine of the type's letter + `rest`, looked up once per type and name.
template <class T> void *typed_routine(const char *rest) { return host_routine(letter<T>() + std::string(rest)); }

} // namespace kpt
