"""The flow of control, messages, modes, and instructions that only order others."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, control

ROWS: tuple[Row, ...] = (
    *control("s_branch", "branch"),
    *control("s_cbranch_scc0", "branch_if", condition="!scc"),
    *control("s_cbranch_scc1", "branch_if", condition="scc"),
    *control("s_cbranch_vccz", "branch_if", condition="{vcc} == 0", reads="vcc"),
    *control("s_cbranch_vccnz", "branch_if", condition="{vcc} != 0", reads="vcc"),
    *control("s_cbranch_execz", "branch_if", condition="ex == 0"),
    *control("s_cbranch_execnz", "branch_if", condition="ex != 0"),
    *control("s_cbranch_cdbgsys|s_cbranch_cdbguser|s_cbranch_cdbgsys_or_user|s_cbranch_cdbgsys_and_user", "nothing"),
    *control("s_endpgm|s_endpgm_saved|s_endpgm_ordered_ps_done", "end"),
    *control("s_barrier", "barrier"),
    # Between a signal and the wait that follows it a wave may go on by itself: stopping at the wait is enough.
    *control("s_barrier_signal|s_barrier_signal_isfirst|s_barrier_init|s_barrier_join", "barrier_signal"),
    *control("s_barrier_leave", "barrier_signal"),
    *control("s_barrier_wait", "barrier_wait"),
    *control("s_getpc_b64|s_get_pc_i64", "getpc"),
    *control("s_setpc_b64|s_set_pc_i64", "setpc"),
    *control("s_swappc_b64|s_swap_pc_i64", "swappc"),
    *control("s_call_b64|s_call_i64", "call"),
    *control("s_getreg_b32", "getreg"),
    *control("s_setreg_b32|s_setreg_imm32_b32", "setreg"),
    *control("s_round_mode", "round_mode"),
    *control("s_denorm_mode", "denorm_mode"),
    *control("s_sendmsg|s_sendmsghalt", "sendmsg"),
    *control("s_sendmsg_rtn_b32|s_sendmsg_rtn_b64", "sendmsg_rtn"),
    *control("s_trap", "trap"),
    *control("s_sleep|s_sleep_var", "sleep"),
    *control("s_set_gpr_idx_on", "gpr_idx_on"),
    *control("s_set_gpr_idx_off", "gpr_idx_off"),
    *control("s_set_gpr_idx_idx", "gpr_idx_idx"),
    *control("s_set_vgpr_msb", "vgpr_msb"),
    *control("s_movrels_b32", "movrels", words="1"),
    *control("s_movrels_b64", "movrels", words="2"),
    *control("s_movreld_b32", "movreld", words="1"),
    *control("s_movreld_b64", "movreld", words="2"),
    *control("ds_gws_barrier", "gws_barrier"),
    *control("ds_gws_init|ds_gws_sema_v|ds_gws_sema_br|ds_gws_sema_p|ds_gws_sema_release_all", "nothing"),
    *control("v_movrels_b32", "v_movrels"),
    *control("v_movreld_b32", "v_movreld"),
    *control(
        "s_nop|s_waitcnt|s_waitcnt_vscnt|s_waitcnt_vmcnt|s_waitcnt_expcnt|s_waitcnt_lgkmcnt|s_waitcnt_depctr|"
        "s_wait_alu|s_wait_idle|s_wait_event|s_wait_loadcnt|s_wait_storecnt|s_wait_samplecnt|s_wait_bvhcnt|"
        "s_wait_expcnt|s_wait_dscnt|s_wait_kmcnt|s_wait_loadcnt_dscnt|s_wait_storecnt_dscnt|s_wait_xcnt|"
        "s_wait_asynccnt|s_wait_tensorcnt|s_delay_alu|"
        "s_clause|s_inst_prefetch|s_set_inst_prefetch_distance|s_setprio|s_icache_inv|s_dcache_inv|s_dcache_wb|"
        "s_dcache_inv_vol|s_dcache_wb_vol|s_gl1_inv|s_code_end|s_sethalt|s_ttracedata|s_ttracedata_imm|s_version|"
        "s_wakeup|s_incperflevel|s_decperflevel|s_prefetch_inst|s_prefetch_inst_pc_rel|s_prefetch_data|s_prefetch_data_pc_rel|"
        "s_buffer_prefetch_data|"
        "s_setprio_inc_wg|v_nop|v_pipeflush|v_clrexcp|ds_nop|"
        "buffer_wbl2|buffer_inv|buffer_wbinvl1|buffer_wbinvl1_vol|buffer_gl0_inv|buffer_gl1_inv|buffer_invl2|"
        "global_wb|global_wbinv|global_inv|global_prefetch_b8|flat_prefetch_b8",
        "nothing",
    ),
)
