import torch
from flash_attn.bert_padding import index_first_axis, pad_input, unpad_input
from flash_attn.bert_padding import unpad_input as five
from flash_attn.bert_padding import unpad_input_for_concatenated_sequences
from flash_attn import bert_padding


def forward(x, mask):
    tokens, indices, ends, longest = unpad_input(x, mask)
    other, *rest = five(x, mask)
    return pad_input(tokens, indices, *x.shape[:2]), index_first_axis(other, indices)
