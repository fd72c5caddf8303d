"""vLLM samples for policies that transformers trains (extra ``vllm``).

It runs either in this process, on the training device (``"vllm"``), or on a server
(``"http://HOST:PORT"``, started with ``vllm serve``). Checked against the sources of vLLM 0.28.0,
0.30.0, 0.31.0 and 0.33.0.
"""
