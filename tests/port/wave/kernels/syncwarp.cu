// kernel: hand_over; arguments: out; block: 32 1; after: buggy_syncwarp_mask.cu

