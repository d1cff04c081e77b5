/* What torch's DistributedDataParallel times on a GPU: work of an emulated one is done when it is asked for. */
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

namespace kpt_torch {
namespace {

class HostTimer final : public c10d::Timer {
public:
    explicit HostTimer(c10::Device) {}
    std::optional<int64_t> measureDifference(Event start, Event end) override {
        int64_t first = getTimeRef(start), last = getTimeRef(end);
        if (first == c10d::kUnsetTime || last == c10d::kUnsetTime || last < first) return std::nullopt;
        return last - first;
    }
};

} // namespace
} // namespace kpt_torch

namespace c10d {
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kCUDA, kpt_torch::HostTimer)
} // namespace c10d
