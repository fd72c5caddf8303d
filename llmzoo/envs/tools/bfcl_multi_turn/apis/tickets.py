"""Support tickets of a company."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import API, Padding

_FIELDS = ("title", "description", "status", "priority")


class TicketAPI(API):
    about = "Support tickets of a company."

    def __init__(self, config: Mapping[str, Any], padding: Padding | None = None):
        super().__init__(config, padding)
        self.ticket_queue = config.get("ticket_queue", [])
        self.ticket_counter = config.get("ticket_counter", 1)
        self.current_user = config.get("current_user")

    def _find_ticket(self, ticket_id: int) -> dict[str, Any] | None:
        return next((each for each in self.ticket_queue if each["id"] == ticket_id), None)

    def create_ticket(self, title: str, description: str = "", priority: int = 1) -> Any:
        """Open a ticket. It needs a login.

        title: Title of the ticket.
        description: What it is about.
        priority: From 1 to 5, the most urgent.
        """
        if not self.current_user:
            return {"error": "User not authenticated. Please log in to create a ticket."}
        if priority < 1 or priority > 5:
            return {"error": "Invalid priority. Priority must be between 1 and 5."}
        ticket = {
            "id": self.ticket_counter,
            "title": title,
            "description": description,
            "status": "Open",
            "priority": priority,
            "created_by": self.current_user,
        }
        self.ticket_queue.append(ticket)
        self.ticket_counter += 1
        return ticket

    def get_ticket(self, ticket_id: int) -> Any:
        """Show a ticket.

        ticket_id: Number of the ticket.
        """
        return self._find_ticket(ticket_id) or _missing_ticket_error(ticket_id)

    def close_ticket(self, ticket_id: int) -> Any:
        """Close a ticket.

        ticket_id: Number of the ticket.
        """
        ticket = self._find_ticket(ticket_id)
        if not ticket:
            return _missing_ticket_error(ticket_id)
        if ticket["status"] == "Closed":
            return {"error": f"Ticket with ID {ticket_id} is already closed."}
        ticket["status"] = "Closed"
        return {"status": f"Ticket {ticket_id} has been closed successfully."}

    def resolve_ticket(self, ticket_id: int, resolution: str) -> Any:
        """Mark a ticket as resolved.

        ticket_id: Number of the ticket.
        resolution: How it was resolved.
        """
        ticket = self._find_ticket(ticket_id)
        if not ticket:
            return _missing_ticket_error(ticket_id)
        if ticket["status"] == "Resolved":
            return {"error": f"Ticket with ID {ticket_id} is already resolved."}
        ticket["status"] = "Resolved"
        ticket["resolution"] = resolution
        return {"status": f"Ticket {ticket_id} has been resolved successfully."}

    def edit_ticket(self, ticket_id: int, updates: dict) -> Any:
        """Change a ticket.

        ticket_id: Number of the ticket.
        updates: New values of any of title, description, status and priority.
        """
        ticket = self._find_ticket(ticket_id)
        if not ticket:
            return _missing_ticket_error(ticket_id)
        wrong = [name for name in updates.keys() if name not in _FIELDS]  # noqa: SIM118 (its error)
        if wrong:
            return {"error": f"Invalid fields for update: {', '.join(wrong)}"}
        ticket.update({name: value for name, value in updates.items() if value is not None})
        return {"status": f"Ticket {ticket_id} has been updated successfully."}

    def ticket_login(self, username: str, password: str) -> Any:
        """Log in to the tickets.

        username: Name of the user.
        password: Password of the user.
        """
        if username and password:
            self.current_user = username
            return {"success": True}
        return {"success": False}

    def ticket_get_login_status(self) -> Any:
        """Tell whether a user is logged in to the tickets."""
        return {"login_status": bool(self.current_user)}

    def logout(self) -> Any:
        """Log out of the tickets."""
        if not self.current_user:
            return {"success": False}
        self.current_user = None
        return {"success": True}

    def get_user_tickets(self, status: str | None = None) -> Any:
        """Show the tickets that the user opened. It needs a login.

        status: Show only tickets of this status.
        """
        if not self.current_user:
            return [{"error": "User not authenticated. Please log in to view tickets."}]
        own = [each for each in self.ticket_queue if each["created_by"] == self.current_user]
        if status:
            own = [each for each in own if each["status"].lower() == status.lower()]
        return own


def _missing_ticket_error(ticket_id: int) -> dict[str, str]:
    return {"error": f"Ticket with ID {ticket_id} not found."}
