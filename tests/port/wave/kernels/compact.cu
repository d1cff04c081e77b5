// kernel: compact; arguments: bits out zeros; block: 32 1; after: buggy_ballot_in_unsigned.cu

