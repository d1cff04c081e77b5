// kernel: spread; arguments: ints_inout; block: 128 1; after: buggy_mask_parameter.cu

