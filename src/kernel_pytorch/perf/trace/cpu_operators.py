"""A run without a GPU: the operators that do the work stand in for kernels.

Many operators only call others (aten::linear calls aten::addmm), or change how a tensor is looked at: they are no more
kernels here than on a GPU. What an operator that works calls is part of it: aten::addmm copies its bias first.
"""

from __future__ import annotations

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.trace.linking import enclosing
from kernel_pytorch.perf.trace.recording import KERNEL, NONE, Recording

# Neither reads nor writes elements.
_LOOKING = """
view reshape _unsafe_view as_strided as_strided_ transpose transpose_ t t_ permute expand expand_as unsqueeze
unsqueeze_ squeeze squeeze_ slice select narrow split split_with_sizes chunk tensor_split unbind flatten unflatten
alias detach detach_ movedim swapaxes swapdims diagonal real imag view_as view_as_real view_as_complex resolve_conj
resolve_neg lift_fresh _reshape_alias empty empty_like empty_strided new_empty new_empty_strided result_type resize_
broadcast_tensors broadcast_to numpy_T mT mH adjoint set_ set_data requires_grad_ is_leaf output_nr unfold item
_has_compatible_shallow_copy_type _version is_nonzero to contiguous type_as reshape_as conj"""
# Has others do it.
_CALLING = """
linear matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution _convolution
convolution_overrideable layer_norm batch_norm group_norm instance_norm rms_norm _batch_norm_impl_index softmax
log_softmax clone _to_copy relu relu_ relu6 dropout dropout_ scaled_dot_product_attention einsum tensordot inner
outer _scaled_dot_product_attention_math zeros zeros_like ones ones_like full full_like new_zeros new_ones new_full
rand randn rand_like randn_like embedding stack vstack hstack pad tile repeat repeat_interleave meshgrid where
cosine_similarity cross_entropy_loss nll_loss nll_loss_nd max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d
adaptive_avg_pool2d interpolate upsample lstm gru rnn_tanh rnn_relu multi_head_attention_forward norm linalg_norm
clip clip_ true_divide square mse_loss masked_fill index_put mean std var flatten_dense_tensors _fused_rms_norm
binary_cross_entropy_with_logits"""
_LOOKS, _CALLS = frozenset(_LOOKING.split()), frozenset(_CALLING.split())


def use_cpu_operators(recording: Recording) -> None:
    """Makes activities of the operators that work. Raises UsageError where there are none."""
    operators = recording.operators
    if len(operators) == 0:
        raise UsageError(
            f"{recording.source}: no GPU activity and no operators in it. Record with "
            "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] (CUDA is also the name for AMD GPUs)"
        )
    recording.on_cpu = True
    parents = enclosing(operators, operators)
    calls_others = bytearray(len(operators))
    for parent in parents:
        if parent != NONE:
            calls_others[parent] = 1
    works = [_works(recording.signatures[one].name, calls_others[i]) for i, one in enumerate(operators.label)]
    order = sorted(range(len(operators)), key=lambda i: (operators.thread[i], operators.start[i], -operators.end[i]))
    inside = bytearray(len(operators))
    for i in order:
        parent = parents[i]
        inside[i] = parent != NONE and (works[parent] or inside[parent])
        if works[i] and not inside[i] and operators.end[i] > operators.start[i]:
            # The operator is its own launch: the external id leads back to it.
            recording.activities.add(
                operators.start[i],
                operators.end[i],
                name=recording.string(recording.signatures[operators.label[i]].name),
                kind=KERNEL,
                device=0,
                stream=operators.thread[i],
                correlation=NONE,
                external=i,
            )


def _works(name: str, calls_others: int) -> bool:
    space, _, plain = name.rpartition("::")
    if space == "aten":
        return plain not in _LOOKS and not (plain in _CALLS and calls_others)
    return not calls_others  # a custom operator, a backward function, a generated kernel
