# ruff: noqa: PT009, PT027 - the tests of these tasks are unittest classes
import unittest


class Ledger:
    """Double-entry bookkeeping in whole cents: what leaves one account enters another."""

    def __init__(self):
        self.accounts = {}
        self.entries = []

    def open_account(self, name, limit=0):
        """
        Open an account with a balance of 0 that may go down to -limit.
        :param name: str, not empty
        :param limit: int, cents of credit
        :return: bool, False when the name is empty or taken, or limit is negative
        """
        if not name or name in self.accounts or limit < 0:
            return False
        self.accounts[name] = limit
        return True

    def balance(self, name):
        """
        The balance of an account: what it received minus what it paid.
        :param name: str
        :return: int, cents
        :raise KeyError: when there is no such account
        """
        if name not in self.accounts:
            raise KeyError(name)
        received = sum(amount for _, target, amount, _ in self.entries if target == name)
        paid = sum(amount for source, _, amount, _ in self.entries if source == name)
        return received - paid

    def can_pay(self, name, amount):
        """
        Whether an account may pay an amount without falling below its limit.
        :param name: str
        :param amount: int, cents, more than 0
        :return: bool, False for an unknown account or an amount that is not positive
        """
        if name not in self.accounts or amount <= 0:
            return False
        return self.balance(name) - amount >= -self.accounts[name]

    def transfer(self, source, target, amount, note=""):
        """
        Move an amount from one account to another and write it down.
        :return: int, the number of the entry counted from 1, or 0 when it is refused: an unknown
            account, both the same, or a source that cannot pay
        """
        if target not in self.accounts or source == target or not self.can_pay(source, amount):
            return 0
        self.entries.append((source, target, amount, note))
        return len(self.entries)

    def statement(self, name):
        """
        The entries of an account in order, each with the balance after it.
        :return: list of dict with the keys "other" (the other account), "amount" (negative when
            paid), "note" and "balance"
        """
        lines = []
        balance = 0
        for source, target, amount, note in self.entries:
            if name == source:
                other, change = target, -amount
            elif name == target:
                other, change = source, amount
            else:
                continue
            balance += change
            lines.append({"other": other, "amount": change, "note": note, "balance": balance})
        return lines

    def reverse(self, number):
        """
        Write an entry that undoes an earlier one, with the note "reversal of <number>".
        :param number: int, the number of the entry to undo
        :return: int, the number of the new entry, or 0 when there is no such entry or the account
            that received the money cannot pay it back
        """
        if not 1 <= number <= len(self.entries):
            return 0
        source, target, amount, _ = self.entries[number - 1]
        return self.transfer(target, source, amount, f"reversal of {number}")


def opened():
    ledger = Ledger()
    ledger.open_account("bank", 100_000)
    ledger.open_account("ann")
    ledger.open_account("bob", 500)
    return ledger


class LedgerTestOpenAccount(unittest.TestCase):
    def test_new(self):
        self.assertTrue(Ledger().open_account("ann"))

    def test_taken(self):
        ledger = Ledger()
        ledger.open_account("ann")
        self.assertFalse(ledger.open_account("ann", 5))

    def test_no_name(self):
        self.assertFalse(Ledger().open_account(""))

    def test_negative_limit(self):
        ledger = Ledger()
        self.assertFalse(ledger.open_account("ann", -1))
        self.assertTrue(ledger.open_account("ann", 0))


class LedgerTestBalance(unittest.TestCase):
    def test_both_sides(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 300)
        self.assertEqual((ledger.balance("ann"), ledger.balance("bank")), (300, -300))

    def test_new(self):
        self.assertEqual(opened().balance("bob"), 0)

    def test_unknown(self):
        with self.assertRaises(KeyError):
            opened().balance("carl")

    def test_several(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 300)
        ledger.transfer("ann", "bob", 120)
        ledger.transfer("bob", "ann", 20)
        self.assertEqual(ledger.balance("ann"), 200)


class LedgerTestCanPay(unittest.TestCase):
    def test_down_to_the_limit(self):
        self.assertTrue(opened().can_pay("bob", 500))

    def test_beyond_the_limit(self):
        self.assertFalse(opened().can_pay("bob", 501))

    def test_nothing_to_pay(self):
        self.assertFalse(opened().can_pay("bank", 0))

    def test_unknown(self):
        self.assertFalse(opened().can_pay("carl", 1))

    def test_after_receiving(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 70)
        self.assertTrue(ledger.can_pay("ann", 70))
        self.assertFalse(ledger.can_pay("ann", 71))


class LedgerTestTransfer(unittest.TestCase):
    def test_numbers(self):
        ledger = opened()
        self.assertEqual(ledger.transfer("bank", "ann", 10), 1)
        self.assertEqual(ledger.transfer("ann", "bob", 10), 2)

    def test_no_money(self):
        self.assertEqual(opened().transfer("ann", "bob", 1), 0)

    def test_to_itself(self):
        self.assertEqual(opened().transfer("bank", "bank", 5), 0)

    def test_refused_leaves_no_trace(self):
        ledger = opened()
        ledger.transfer("bank", "carl", 5)
        ledger.transfer("bank", "ann", -5)
        self.assertEqual(ledger.balance("bank"), 0)
        self.assertEqual(ledger.transfer("bank", "ann", 5), 1)


class LedgerTestStatement(unittest.TestCase):
    def test_in_and_out(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 300, "wages")
        ledger.transfer("ann", "bob", 120)
        self.assertEqual(
            ledger.statement("ann"),
            [
                {"other": "bank", "amount": 300, "note": "wages", "balance": 300},
                {"other": "bob", "amount": -120, "note": "", "balance": 180},
            ],
        )

    def test_empty(self):
        self.assertEqual(opened().statement("ann"), [])

    def test_only_its_own(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 1)
        ledger.transfer("bank", "bob", 2, "x")
        self.assertEqual(
            ledger.statement("bob"), [{"other": "bank", "amount": 2, "note": "x", "balance": 2}]
        )

    def test_ends_at_the_balance(self):
        ledger = opened()
        for amount in (5, 6, 7):
            ledger.transfer("bank", "bob", amount)
        self.assertEqual(ledger.statement("bob")[-1]["balance"], 18)


class LedgerTestReverse(unittest.TestCase):
    def test_undoes(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 40)
        self.assertEqual(ledger.reverse(1), 2)
        self.assertEqual(ledger.balance("ann"), 0)

    def test_no_such_entry(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 40)
        self.assertEqual((ledger.reverse(0), ledger.reverse(2), ledger.reverse(-1)), (0, 0, 0))

    def test_money_is_gone(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 40)
        ledger.transfer("ann", "bob", 1)
        self.assertEqual(ledger.reverse(1), 0)

    def test_note(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 40)
        ledger.reverse(1)
        self.assertEqual(ledger.statement("bank")[1]["note"], "reversal of 1")


class LedgerTestTogether(unittest.TestCase):
    def test_money_is_neither_made_nor_lost(self):
        ledger = opened()
        ledger.transfer("bank", "ann", 900)
        ledger.transfer("ann", "bob", 450)
        ledger.reverse(2)
        ledger.transfer("bob", "ann", 500)
        self.assertEqual(sum(ledger.balance(name) for name in ("bank", "ann", "bob")), 0)
        self.assertEqual(ledger.balance("bob"), -500)
