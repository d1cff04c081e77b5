// kernel: any_bits; arguments: bits out; block: 128 1; after: buggy_ballot_in_int.cu

