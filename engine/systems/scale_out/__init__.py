"""Systems that spread tables over GPUs, hosts or remote memory."""
