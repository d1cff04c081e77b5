// What an exported function that has no implementation does.
#pragma once

namespace kpt {

// Says once per function on stderr that `function` is not there, and hands `status` back.
int missing(const char *function, bool *reported, int status);

// The same for a case inside a function that is there otherwise.
int unsupported(const char *function, const char *what, int status);

} // namespace kpt
