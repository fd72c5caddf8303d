"""The engine ``ray``: rollouts and updates in processes of their own, on one machine or several.

Nothing of Ray is imported before the engine is started.
"""

from llmzoo.engine.ray.config import RayArgs, ray_args

__all__ = ["RayArgs", "ray_args"]
