// kernel: half_vote; arguments: bits out; block: 128 1; after: buggy_partial_mask_vote.cu

