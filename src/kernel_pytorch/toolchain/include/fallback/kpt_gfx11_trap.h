// Traps on gfx11 without the compiler's expansion of them.
//
// Upstream clang 22 fails on a gfx11 function with more than one __builtin_trap ("Unsupported instruction": the pseudo
// instruction of all but one is left in place). Every mask check of a *_sync builtin and every assert is one. The
// instruction itself is what the compiler emits on the other targets.
#ifndef KPT_GFX11_TRAP_H
#define KPT_GFX11_TRAP_H
#pragma clang system_header

#if defined(__HIP__) && defined(__HIP_DEVICE_COMPILE__) && defined(__GFX11__)
__attribute__((host, device, always_inline, noreturn)) static inline void kpt_trap(void) {
    __asm__ volatile("s_trap 2");
    __builtin_unreachable();
}
#define __builtin_trap() kpt_trap()
#endif

#endif // KPT_GFX11_TRAP_H
