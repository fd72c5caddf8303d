"""Messages between the users of a workspace."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import API, Padding

_SEED = 200191
_NAMES = ("Alice", "Bob", "Catherine", "Daniel")
_LOGIN = {"error": "No user is currently logged in."}


class MessageAPI(API):
    about = "Messages between the users of a workspace."

    def __init__(self, config: Mapping[str, Any], padding: Padding | None = None):
        super().__init__(config, padding)
        self._random = random.Random(config.get("random_seed", _SEED))
        self.generated_ids = set(config.get("generated_ids", ()))
        self.user_count = config.get("user_count", len(_NAMES))
        self.user_map = config.get(
            "user_map", {name: f"USR00{number}" for number, name in enumerate(_NAMES, start=1)}
        )
        self.inbox = config.get(
            "inbox",
            [
                {"USR002": "Hello, Alice here. Let us stay in touch."},
                {"USR003": "Please send me the file."},
                {"USR004": "Please send me the file."},
            ],
        )
        self.message_count = config.get("message_count", 3)
        self.current_user = config.get("current_user")

    def list_users(self) -> Any:
        """List the names of all users."""
        return {"user_list": list(self.user_map)}

    def get_user_id(self, user: str) -> Any:
        """Look up the id of a user.

        user: Name of the user.
        """
        if user not in self.user_map:
            return {"error": f"User '{user}' not found in the workspace."}
        return {"user_id": self.user_map[user]}

    def message_login(self, user_id: str) -> Any:
        """Log a user in to the messages.

        user_id: Id of the user, such as "USR001".
        """
        if user_id not in list(self.user_map.values()):
            return {"login_status": False, "message": f"User ID '{user_id}' not found."}
        self.current_user = user_id
        return {"login_status": True, "message": f"User '{user_id}' logged in successfully."}

    def message_get_login_status(self) -> Any:
        """Tell whether a user is logged in to the messages."""
        return {"login_status": bool(self.current_user)}

    def send_message(self, receiver_id: str, message: str) -> Any:
        """Send a message to a user. It needs a login.

        receiver_id: Id of the user who gets it.
        message: The text.
        """
        if not self.current_user:
            return _LOGIN
        if receiver_id not in self.user_map.values():
            return {"error": f"Receiver ID '{receiver_id}' not found."}
        number = self._random.randint(10000, 99999)
        while number in self.generated_ids:
            number = self._random.randint(10000, 99999)
        self.generated_ids.add(number)
        self.inbox.append({receiver_id: message})
        self.message_count += 1
        return {
            "sent_status": True,
            "message_id": {"new_id": number},
            "message": f"Message sent to '{receiver_id}' successfully.",
        }

    def delete_message(self, receiver_id: str) -> Any:
        """Delete the last message that was sent to a user. It needs a login.

        receiver_id: Id of the user who got it.
        """
        if not self.current_user:
            return _LOGIN
        for message in reversed(self.inbox):
            if next(iter(message)) == receiver_id:
                self.inbox.remove(message)
                confirmation = f"Receiver {receiver_id}'s latest message deleted successfully."
                return {"deleted_status": True, "receiver_id": receiver_id, "message": confirmation}
        return {"error": f"Receiver ID {receiver_id} not found."}

    def view_messages_sent(self) -> Any:
        """Show all messages that were sent, by the id of the user who got them. It needs a login."""
        if not self.current_user:
            return _LOGIN
        sent: dict[str, list[str]] = {}
        for message in self.inbox:
            receiver, text = next(iter(message.items()))
            sent.setdefault(receiver, []).append(text)
        return {"messages": sent}

    def add_contact(self, user_name: str) -> Any:
        """Add a user to the workspace, with a new id.

        user_name: Name of the new user.
        """
        if user_name in self.user_map:
            return {"error": f"User name '{user_name}' already exists."}
        self.user_count += 1
        user_id = f"USR{str(self.user_count).zfill(3)}"
        if user_id in self.user_map.values():
            return {"error": f"User ID '{user_id}' already exists."}
        self.user_map[user_name] = user_id
        confirmation = f"Contact '{user_name}' added successfully."
        return {"added_status": True, "user_id": user_id, "message": confirmation}

    def search_messages(self, keyword: str) -> Any:
        """Find the messages that contain a word, in capitals or not. It needs a login.

        keyword: The word.
        """
        if not self.current_user:
            return _LOGIN
        wanted = keyword.lower()
        found = []
        for message in self.inbox:
            receiver, text = next(iter(message.items()))
            if wanted in text.lower():
                found.append({"receiver_id": receiver, "message": text})
        return {"results": found}

    def get_message_stats(self) -> Any:
        """Count the messages and the users who got one. It needs a login."""
        if not self.current_user:
            return _LOGIN
        users = {next(iter(message)) for message in self.inbox}
        return {"stats": {"received_count": len(self.inbox), "total_contacts": len(users)}}
