#pragma once

namespace kpt {

/* The codes of cudaError_t that the runtime itself returns. */
enum Error {
    ERROR_INVALID_VALUE = 1,
    ERROR_OUT_OF_MEMORY = 2,
    ERROR_INVALID_CONFIGURATION = 9,
    ERROR_INVALID_SYMBOL = 13,
    ERROR_INVALID_DIRECTION = 21,
    ERROR_ILLEGAL_ADDRESS = 700,
    ERROR_LAUNCH_TIMEOUT = 702,
    ERROR_ASSERT = 710,
    ERROR_LAUNCH_FAILURE = 719,
    ERROR_COOPERATIVE_TOO_LARGE = 720,
    ERROR_NOT_SUPPORTED = 801
};

} // namespace kpt
