"""What a deploy file needs to know: where its twin stands, how torch is installed, which settings a site makes."""
