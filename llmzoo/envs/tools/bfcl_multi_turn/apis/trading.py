"""The trading account: stocks, orders, a watchlist and the money of one user."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import API, Padding, figures

NOW = datetime(2024, 9, 1, 10, 30)
_DAY = "%Y-%m-%d"
_SECOND = "%Y-%m-%d %H:%M:%S"


class TradingBot(API):
    about = "A trading account: stocks, orders, a watchlist and money."

    def __init__(self, config: Mapping[str, Any], padding: Padding | None = None):
        super().__init__(config, padding)
        standard = copy.deepcopy(figures()["trading"])
        orders = config.get("orders", {order["id"]: order for order in standard["orders"]})
        self.orders = {
            int(key) if isinstance(key, str) and key.isdigit() else key: order
            for key, order in orders.items()
        }
        self.account_info = config.get("account_info", standard["account_info"])
        self.authenticated = config.get("authenticated", standard["authenticated"])
        self.market_status = config.get("market_status", standard["market_status"])
        self.order_counter = config.get("order_counter", standard["order_counter"])
        self.stocks = config.get("stocks", standard["stocks"])
        self.watch_list = config.get("watch_list", standard["watch_list"])
        self.transaction_history = config.get(
            "transaction_history", standard["transaction_history"]
        )
        self._random = random.Random(config.get("random_seed", standard["random_seed"]))

    def _record_transaction(self, kind: str, amount: float) -> None:
        """Note a transaction at a time drawn from the day after ``NOW``."""
        time = NOW + timedelta(seconds=self._random.randint(0, 24 * 60 * 60))
        self.transaction_history.append(
            {"type": kind, "amount": amount, "timestamp": time.strftime(_SECOND)}
        )

    def get_current_time(self) -> Any:
        """Tell the time of day, in hours and minutes with AM or PM."""
        return {"current_time": NOW.strftime("%I:%M %p")}

    def get_symbol_by_name(self, name: str) -> Any:
        """Look up the stock symbol of a company.

        name: Name of the company.
        """
        return {"symbol": figures()["stock_symbols"].get(name, "Stock not found")}

    def get_stock_info(self, symbol: str) -> Any:
        """Tell a stock's price, its change in percent, its volume and its averages over 5 and 20 days.

        symbol: Symbol of the stock.
        """
        if symbol not in self.stocks:
            return {"error": f"Stock with symbol '{symbol}' not found."}
        if self._padding is None:
            return self.stocks[symbol]
        return {
            **self.stocks[symbol],
            "MA(5)": self._padding["MA_5_EXTENSION"],
            "MA(20)": self._padding["MA_20_EXTENSION"],
        }

    def get_order_details(self, order_id: int) -> Any:
        """Tell all about an order: type, symbol, price, amount and status.

        order_id: Number of the order.
        """
        if order_id not in self.orders:
            known = f"Here is the list of orders_id: {list(self.orders)}"
            return {"error": f"Order with ID {order_id} not found.{known}"}
        order = self.orders[order_id]
        if self._padding is None:
            return order
        texts = self._padding["ORDER_DETAIL_EXTENSION"]
        symbol = order["symbol"]
        metadata = {name: text.replace("{symbol}", symbol) for name, text in texts.items()}
        return {**order, "metadata": metadata}

    def cancel_order(self, order_id: int) -> Any:
        """Cancel an order that is not completed.

        order_id: Number of the order.
        """
        if order_id not in self.orders:
            return {"error": f"Order with ID {order_id} not found."}
        if self.orders[order_id]["status"] == "Completed":
            return {"error": f"Can't cancel order {order_id}. Order is already completed."}
        self.orders[order_id]["status"] = "Cancelled"
        return {"order_id": order_id, "status": "Cancelled"}

    def place_order(self, order_type: str, symbol: str, price: float, amount: int) -> Any:
        """Order stocks. It needs a login, and for buying enough money.

        order_type: "Buy" or "Sell".
        symbol: Symbol of the stock.
        price: Price of one share.
        amount: Number of shares.
        """
        if not self.authenticated:
            return {"error": "User not authenticated. Please log in to place an order."}
        if symbol not in self.stocks:
            return {"error": f"Invalid stock symbol: {symbol}"}
        if price <= 0 or amount <= 0:
            return {"error": "Price and amount must be positive values."}
        if order_type.lower() == "buy":
            cost = float(price) * int(amount)
            balance = self.account_info.get("balance", 0)
            if cost > balance:
                return {
                    "error": f"Insufficient funds: required ${cost:.2f} but only ${balance:.2f} available."
                }
        price = float(price)
        number = self.order_counter
        self.orders[number] = {
            "id": number,
            "order_type": order_type,
            "symbol": symbol,
            "price": price,
            "amount": amount,
            "status": "Open",
        }
        self.order_counter += 1
        return {
            "order_id": number,
            "order_type": order_type,
            "status": "Pending",
            "price": price,
            "amount": amount,
        }

    def withdraw_funds(self, amount: float) -> Any:
        """Take money out of the account. It needs a login and an open market.

        amount: How much.
        """
        if not self.authenticated:
            return {"error": "User not authenticated. Please log in to make a transaction."}
        if self.market_status != "Open":
            return {"error": "Market is closed. Transactions are not allowed."}
        if amount <= 0:
            return {"error": "Transaction amount must be positive."}
        if amount > self.account_info["balance"]:
            return {"error": "Insufficient funds for withdrawal."}
        self.account_info["balance"] -= amount
        self._record_transaction("withdrawal", amount)
        return {"status": "Withdrawal successful", "new_balance": self.account_info["balance"]}

    def get_account_info(self) -> Any:
        """Tell the number of the account, its balance and its card. It needs a login."""
        if not self.authenticated:
            return {"error": "User not authenticated. Please log in to view account information."}
        return self.account_info

    def trading_login(self, username: str, password: str) -> Any:
        """Log in to the trading account.

        username: Name of the user.
        password: Password of the user.
        """
        if self.authenticated:
            return {"status": "Already logged in"}
        self.authenticated = True
        return {"status": "Logged in successfully"}

    def trading_get_login_status(self) -> Any:
        """Tell whether the user is logged in to the trading account."""
        return {"status": bool(self.authenticated)}

    def trading_logout(self) -> Any:
        """Log out of the trading account."""
        if not self.authenticated:
            return {"status": "No user is currently logged in"}
        self.authenticated = False
        return {"status": "Logged out successfully"}

    def fund_account(self, amount: float) -> Any:
        """Put money into the account. It needs a login.

        amount: How much.
        """
        if not self.authenticated:
            return {"error": "User not authenticated. Please log in to fund the account."}
        if amount <= 0:
            return {"error": "Funding amount must be positive."}
        self.account_info["balance"] += amount
        self._record_transaction("deposit", amount)
        return {
            "status": "Account funded successfully",
            "new_balance": self.account_info["balance"],
        }

    def remove_stock_from_watchlist(self, symbol: str) -> Any:
        """Take a stock off the watchlist. It needs a login.

        symbol: Symbol of the stock.
        """
        if not self.authenticated:
            return {"error": "User not authenticated. Please log in to modify the watchlist."}
        if symbol not in self.watch_list:
            return {"error": f"Stock {symbol} not found in watchlist."}
        self.watch_list.remove(symbol)
        return {"status": f"Stock {symbol} removed from watchlist successfully."}

    def get_watchlist(self) -> Any:
        """List the symbols on the watchlist. It needs a login."""
        if not self.authenticated:
            return ["Error: User not authenticated. Please log in to view the watchlist."]
        if self._padding is None:
            return {"watchlist": self.watch_list}
        return [*self.watch_list, *self._padding["WATCH_LIST_EXTENSION"]]

    def get_order_history(self) -> Any:
        """List the numbers of all orders. It needs a login."""
        if not self.authenticated:
            return [{"error": "User not authenticated. Please log in to view order history."}]
        return {"history": list(self.orders)}

    def get_transaction_history(
        self, start_date: str | None = None, end_date: str | None = None
    ) -> Any:
        """List what was put into the account and taken out. It needs a login.

        start_date: First day, as YYYY-MM-DD.
        end_date: Last day, as YYYY-MM-DD; the list ends as this day begins.
        """
        if not self.authenticated:
            return [{"error": "User not authenticated. Please log in to view transaction history."}]
        start = datetime.strptime(start_date, _DAY) if start_date else datetime.min
        end = datetime.strptime(end_date, _DAY) if end_date else datetime.max
        listed = [
            each
            for each in self.transaction_history
            if start <= datetime.strptime(each["timestamp"], _SECOND) <= end
        ]
        if self._padding is not None:
            listed += self._padding["TRANSACTION_HISTORY_EXTENSION"]
        return {"transaction_history": listed}

    def get_available_stocks(self, sector: str) -> Any:
        """List the stocks of a sector.

        sector: Name of the sector, such as "Technology".
        """
        listed = list(figures()["sectors"].get(sector, []))
        if self._padding is not None and listed:
            listed += self._padding[f"{sector.upper()}_EXTENSION"]
        return {"stock_list": listed}

    def filter_stocks_by_price(self, stocks: list[str], min_price: float, max_price: float) -> Any:
        """Keep the stocks whose price lies between two prices.

        stocks: Symbols to choose from.
        min_price: Lowest price.
        max_price: Highest price.
        """
        prices = {symbol: self.stocks.get(symbol, {}).get("price", 0) for symbol in stocks}
        kept = [symbol for symbol in stocks if min_price <= prices[symbol] <= max_price]
        return {"filtered_stocks": kept}

    def add_to_watchlist(self, stock: str) -> Any:
        """Put a stock on the watchlist.

        stock: Symbol of the stock.
        """
        if stock not in self.watch_list and stock in self.stocks:
            self.watch_list.append(stock)
        return {"watchlist": self.watch_list}

    def notify_price_change(self, stocks: list[str], threshold: float) -> Any:
        """Tell which of some stocks changed by at least so many percent.

        stocks: Symbols of the stocks.
        threshold: The smallest change that counts, in percent.
        """
        changed = [
            symbol
            for symbol in stocks
            if symbol in self.stocks and abs(self.stocks[symbol]["percent_change"]) >= threshold
        ]
        if not changed:
            return {"notification": "No significant price changes in the selected stocks."}
        return {"notification": f"Stocks {', '.join(changed)} have significant price changes."}
