"""The engine ``ray``: rollouts and updates in separate processes, on one machine or several.

Ray is imported only when the engine starts.
"""

from llmzoo.engine.ray.config import RayArgs, ray_args

__all__ = ["RayArgs", "ray_args"]
