// kernel: group_any; arguments: bits out 5; block: 128 1; after: buggy_computed_mask.cu

