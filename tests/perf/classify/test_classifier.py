"""Categories: by operator first, by kernel name second, on names both vendors' stacks really produce."""

# ruff: noqa: E501 - names and logs as the tools write them
from __future__ import annotations

import csv
import re
from importlib import resources

import pytest

from kernel_pytorch.perf.classify.classifier import CATEGORIES, TITLES, category_of, kernel_category

KERNELS = {
    "gemm": [
        "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT128x224x64_MI16x16x1_SN",
        "Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_SE_1LDSB0_PostGSU4",
        "void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3<...>>(...)",
        "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(Params)",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1",
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>",
        "void gemv2T_kernel_val<int, int, __nv_bfloat16, float>",
        "rocblas_gemvt_sn_kernel",
        "triton_tem_fused_addmm_relu_3",
        "fused_moe_kernel",
        "void wvSplitK_hf_sml_<__half, 64, 2, 16, 8, 1, 1>",
        "_ZN5aiter36fmoe_bf16_blockscaleFp8_g1u1_vs_silu",
        "f4gemm_bf16_per1x32Fp4_BpreShuffle_192x128",
    ],
    "attention": [
        "attn_fwd",
        "attn_fwd.kd",
        "bwd_kernel_dk_dv",
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 64, 4>>",
        "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128>>",
        "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90>>>",
        "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x64",
        "aiter::fmha_fwd_hd128_bf16_causal_rtne",
        "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<...>>",
        "triton_tem_fused_flex_attention_1",
        "kernel_unified_attention_2d",
        "void vllm::paged_attention_v2_kernel<__hip_bfloat16>",
        "_ZN5aiter7mla_a8w8_qh16",
    ],
    "convolution": [
        "miopenSp3AsmConv_v30_3_1_gfx94x_fp16_f2x3_stride1",
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex0_bt256x128x32",
        "MIOpenConvUni",
        "void cudnn::winograd_nonfused::winogradForwardData4x4",
        "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc",
        "void ck::tensor_operation::device::kernel_grouped_conv_fwd_xdl<...>",
        "naive_conv_ab_nonpacked_fwd_nchw",
        "void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16>",
    ],
    "norm": [
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>",
        "void at::native::batch_norm_collect_statistics_channels_last_kernel<...>",
        "MIOpenBatchNormFwdTrainSpatialNorm",
        "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>",
        "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_4",
        "triton_per_fused_native_layer_norm_2",
        "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::BFloat16>",
        "ck_tile::Rmsnorm2dFwd",
    ],
    "elementwise": [
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> >",
        "void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float>>>",
        "triton_poi_fused_add_mul_silu_3",
        "triton_for_fused_0",
        "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor>",
    ],
    "reduction": [
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>",
        "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>",
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16>",
        "triton_red_fused_sum_1",
        "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<...>",
        "void rocprim::detail::radix_sort_onesweep<...>",
        "void at::native::(anonymous namespace)::max_pool_forward_nhwc<float>",
        "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>",
    ],
    "copy": [
        "Memcpy DtoH (Device -> Pinned)",
        "Memset (Device)",
        "__amd_rocclr_copyBuffer",
        "__amd_rocclr_fillBufferAligned",
        "MEMORY_COPY_HOST_TO_DEVICE",
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4, 64, 64>",
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>",
        "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>",
        "triton_poi_fused__to_copy_2",
        "triton_poi_fused_cat_clone_7",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>",
    ],
    "communication": [
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
        "rcclGenericKernel<1, true>(ncclDevKernelArgsStorage<4096ul>)",
        "mscclKernel_Sum_bf16_LL",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>",
        "nvshmemi_transfer_rma",
    ],
}


@pytest.mark.parametrize(("category", "name"), [(c, name) for c, names in KERNELS.items() for name in names])
def test_kernels_by_name(category: str, name: str) -> None:
    assert kernel_category(name) == category


OPERATORS = {
    "gemm": "aten::mm aten::addmm aten::bmm aten::baddbmm aten::_scaled_mm aten::linear aten::_grouped_mm vllm::gptq_gemm",
    "attention": "aten::_flash_attention_forward aten::_efficient_attention_backward aten::_scaled_dot_product_cudnn_attention "
    "FlashAttnFunc flash_attn::_flash_attn_forward aiter::mha_fwd vllm::unified_attention_with_output aten::_cudnn_attention_forward",
    "convolution": "aten::cudnn_convolution aten::miopen_convolution aten::convolution_backward aten::_conv_depthwise2d",
    "norm": "aten::native_layer_norm aten::native_layer_norm_backward aten::miopen_batch_norm aten::cudnn_batch_norm "
    "aten::native_group_norm aten::_fused_rms_norm aten::native_batch_norm_backward _C::fused_add_rms_norm",
    "elementwise": "aten::add aten::add_ aten::mul aten::silu aten::gelu_backward aten::fill_ aten::where aten::masked_fill_ "
    "aten::_foreach_add_ aten::_fused_adamw_ aten::native_dropout aten::arange aten::upsample_bilinear2d _C::silu_and_mul",
    "reduction": "aten::sum aten::mean aten::_softmax aten::_log_softmax_backward_data aten::topk aten::sort aten::cumsum "
    "aten::nll_loss_forward aten::max_pool2d_with_indices aten::adaptive_avg_pool2d aten::linalg_vector_norm aten::all",
    "copy": "aten::copy_ aten::cat aten::index_select aten::embedding_dense_backward aten::_local_scalar_dense aten::clone "
    "aten::index_put_ aten::gather aten::scatter_add_ aten::constant_pad_nd aten::nonzero aten::index",
    "communication": "nccl:all_reduce c10d::allreduce_ _c10d_functional::all_gather_into_tensor record_param_comms",
}


@pytest.mark.parametrize(("category", "name"), [(c, name) for c, names in OPERATORS.items() for name in names.split()])
def test_operators_decide_whatever_the_kernel_is_called(category: str, name: str) -> None:
    assert category_of(name, "some_kernel_nobody_knows") == category


def test_the_operator_outranks_the_kernel() -> None:
    assert category_of("aten::mm", "void at::native::vectorized_elementwise_kernel<4>") == "gemm"
    assert category_of("aten::_softmax", "Cijk_x") == "reduction"


def test_an_unknown_operator_leaves_the_word_to_the_kernel_then_to_what_is_around_it() -> None:
    assert category_of("mylib::fancy", "Cijk_x") == "gemm"
    assert category_of("mylib::fancy", "kernel_7", ["mylib::outer", "aten::_flash_attention_forward"]) == "attention"
    assert category_of("mylib::fancy", "kernel_7", ["autograd::engine::evaluate_function: MmBackward0"]) == "gemm"
    assert category_of("mylib::fancy", "kernel_7", ["mylib::outer"]) == "other"


def test_operators_that_run_anything_are_not_asked() -> None:
    assert category_of("triton_poi_fused_add_0", "triton_red_fused_sum_1") == "reduction"
    assert category_of("Torch-Compiled Region: 0/0", "nvjet_tst") == "gemm"
    assert category_of(None, "attn_fwd") == "attention"


@pytest.mark.parametrize("name", ["operators.csv", "kernels.csv"])
def test_the_tables_are_well_formed(name: str) -> None:
    text = resources.files("kernel_pytorch.perf.classify").joinpath("data").joinpath(name).read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["pattern", "category", "note"]
    for pattern, category, _ in rows[1:]:
        re.compile(pattern)
        assert category in CATEGORIES and category != "other"
    assert set(TITLES) == set(CATEGORIES)
