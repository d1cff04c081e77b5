#include "hostcall.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "config.h"
#include "memory.h"

namespace kpt {
namespace {

/* More than the waves any GPU holds at once: a wave holds at most one packet. */
const uint32_t PACKETS = 16384;
const uint64_t HEAP_BYTES = 256 * 1024;
enum { SERVICE_FUNCTION_CALL = 1, SERVICE_PRINTF = 2, SERVICE_MEMORY = 3 };

struct Header {
    uint64_t next, lanes;
    uint32_t service;
    std::atomic<uint32_t> control;
};
struct Payload {
    uint64_t slots[64][8];
};
struct Signal { /* amd_signal_t as far as a kernel reads it */
    int64_t kind, value;
    uint64_t mailbox;
    uint32_t event, reserved;
};
struct Buffer {
    Header *headers;
    Payload *payloads;
    Signal *doorbell;
    uint64_t free_stack;
    std::atomic<uint64_t> ready_stack;
    uint64_t index_mask;
    Signal signal;
    uint64_t mailbox;
};

std::atomic<Buffer *> buffer{nullptr};
std::mutex hostcall_mutex;

/* A printf takes several packets; its words so far, by the number handed out with the first one. */
std::map<uint64_t, std::vector<uint64_t>> messages;
uint64_t message_count = 0;

void print(uint64_t *slot) {
    uint64_t descriptor = slot[0];
    bool begins = descriptor & 1, ends = descriptor & 2;
    uint64_t length = descriptor >> 5 & 7, id = descriptor >> 8;
    if (begins) {
        id = ++message_count;
        slot[0] = (descriptor & 0xfe) | id << 8;
    }
    auto &words = messages[id];
    words.insert(words.end(), slot + 1, slot + 1 + length);
    if (!ends) return;
    slot[0] = uint64_t(print_message(words.data(), words.size()));
    messages.erase(id);
}

void serve_memory(uint64_t *slot) {
    if (slot[0]) {
        if (!release(slot[0]))
            say("a kernel freed %#llx, which is no block from its malloc", (unsigned long long)slot[0]);
        return;
    }
    /* Slabs are found by rounding an address down to 2 MiB; larger blocks are told apart by their page alignment. */
    uint64_t bytes = slot[1];
    hipError_t error;
    Allocation *made = allocate(Kind::internal, bytes, 0, 0, error, bytes == 2u << 20 ? 2u << 20 : 4096);
    slot[0] = made ? made->base : 0;
}

void serve(uint32_t service, uint64_t *slot) {
    if (service == SERVICE_PRINTF) return print(slot);
    if (service == SERVICE_MEMORY) return serve_memory(slot);
    if (service == SERVICE_FUNCTION_CALL) {
        uint64_t output[2] = {0, 0};
        reinterpret_cast<void (*)(uint64_t *, const uint64_t *)>(slot[0])(output, slot + 1);
        memcpy(slot, output, sizeof output);
        return;
    }
    static bool reported = false;
    if (!reported) say("a kernel asked for host service %u, which is not emulated", service);
    reported = true;
}

} // namespace

uint64_t hostcall_buffer() {
    if (Buffer *made = buffer.load(std::memory_order_acquire)) return uint64_t(made);
    std::lock_guard<std::mutex> lock(hostcall_mutex);
    if (Buffer *made = buffer.load()) return uint64_t(made);
    uint64_t headers = 256, payloads = headers + sizeof(Header) * PACKETS;
    hipError_t error;
    Allocation *memory = allocate(Kind::internal, payloads + sizeof(Payload) * PACKETS, 0, 0, error, 4096);
    if (!memory) return 0;
    auto *b = reinterpret_cast<Buffer *>(memory->base);
    b->headers = reinterpret_cast<Header *>(memory->base + headers);
    b->payloads = reinterpret_cast<Payload *>(memory->base + payloads);
    b->index_mask = PACKETS - 1;
    b->doorbell = &b->signal;
    b->signal.kind = 1;
    b->signal.value = 1;
    /* With a mailbox the device library sends an interrupt message after it rang the doorbell. */
    b->signal.mailbox = uint64_t(&b->mailbox);
    b->signal.event = 1;
    /* Packet 0 carries a tag, so that no packet's pointer is null. */
    uint64_t next = PACKETS;
    for (uint32_t i = 1; i < PACKETS; i++) {
        b->headers[i].next = next;
        next = i;
    }
    b->free_stack = next;
    buffer.store(b, std::memory_order_release);
    return uint64_t(b);
}

uint64_t device_heap() {
    static uint64_t heap = [] {
        hipError_t error;
        Allocation *memory = allocate(Kind::internal, HEAP_BYTES, 0, 0, error, 4096);
        return memory ? memory->base : 0;
    }();
    return heap;
}

void answer_host_calls() {
    Buffer *b = buffer.load(std::memory_order_acquire);
    if (!b || b->ready_stack.load(std::memory_order_relaxed) == 0) return;
    std::lock_guard<std::mutex> lock(hostcall_mutex);
    uint64_t packet = b->ready_stack.exchange(0, std::memory_order_acquire);
    while (packet) {
        Header &header = b->headers[packet & b->index_mask];
        Payload &payload = b->payloads[packet & b->index_mask];
        uint64_t next = header.next;
        for (uint64_t lanes = header.lanes; lanes; lanes &= lanes - 1)
            serve(header.service, payload.slots[__builtin_ctzll(lanes)]);
        header.control.fetch_and(~1u, std::memory_order_release);
        packet = next;
    }
}

} // namespace kpt
