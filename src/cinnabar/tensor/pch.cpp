// Empty: carries the precompiled header.
