// kernel: count; arguments: bits out; block: 128 1; after: buggy_popc_of_ballot.cu

