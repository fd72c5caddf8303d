"""vLLM samples for policies that transformers trains (extra ``vllm``).

Either in this process, on the device that trains (``"vllm"``), or on a server of its own
(``"http://HOST:PORT"``, started with ``vllm serve``). Read against the sources of vLLM 0.28.0,
0.30.0, 0.31.0 and 0.33.0.
"""
