"""Transactions like those of TPC-C (revision 5.11) over tables in memory, scaled down.

What it keeps of the standard: the five kinds of transactions and their shares, which tables they read and write, the
skew of customers and items (NURand), five to fifteen lines an order, 1 % of the lines from another warehouse, orders
that are delivered oldest first. What it leaves out: names and texts, rollbacks, indexes (a row's place follows from its
key), terminals and think times. Orders and history lie in rings, so that the oldest make room for new ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vulcan.kernel_support import function, lazy_kernel
from vulcan_traces.memory.kernels.recorder import Recorder, draw, draw_share, is_full, touch, touch_all

DISTRICTS, CUSTOMERS, ITEMS = 10, 120, 4000
"""Of a warehouse, of a district, and in all (and stocked by each warehouse): the standard's divided by 1, 25 and 25."""

ORDERS, HISTORY = 64, 1024
"""Orders of a district and payments of a warehouse that are kept."""

LINES = 15
WAREHOUSE_ROW, DISTRICT_ROW, CUSTOMER_ROW, ITEM_ROW, STOCK_ROW = 128, 128, 704, 96, 320
ORDER_ROW, LINE_ROW, HISTORY_ROW = 64, 64, 64

NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY = 0.45, 0.43, 0.04, 0.04
"""The shares of transactions; the rest are STOCK-LEVEL."""


def table_sizes(warehouses: int) -> list[int]:
    """Bytes of the tables, in the order in which they lie behind one another."""
    return [
        warehouses * WAREHOUSE_ROW,
        warehouses * DISTRICTS * DISTRICT_ROW,
        warehouses * DISTRICTS * CUSTOMERS * CUSTOMER_ROW,
        ITEMS * ITEM_ROW,
        warehouses * ITEMS * STOCK_ROW,
        warehouses * HISTORY * HISTORY_ROW,
        warehouses * DISTRICTS * ORDERS * (ORDER_ROW + LINES * LINE_ROW),
    ]


@function
def _uneven(recorder, a, below):
    """NURand of the standard's clause 2.1.6, from 0: (random(0, A) | random(0, below - 1)) % below."""
    return (draw(recorder, a + 1) | draw(recorder, below)) % below


@lazy_kernel
def _run(recorder, warehouses, at, hot_share, transactions_a_move, state):
    taken, delivered, lines, customers, items, payments, last_order, done = state
    at_warehouse, at_district, at_customer, at_item, at_stock, at_history, at_orders = at
    touch_all(recorder, 0, at_history, True)
    order_bytes = ORDER_ROW + LINES * LINE_ROW
    ordered = fulfilled = 0
    hot = max(1, warehouses // 8)
    hot_from = 0
    count = 0
    while not is_full(recorder):
        count += 1
        if transactions_a_move and count % transactions_a_move == 0:
            hot_from = draw(recorder, warehouses)
        if draw_share(recorder) < hot_share:
            w = (hot_from + draw(recorder, hot)) % warehouses
        else:
            w = draw(recorder, warehouses)
        d = w * DISTRICTS + draw(recorder, DISTRICTS)
        c = _uneven(recorder, 31, CUSTOMERS)
        customer = at_customer + (d * CUSTOMERS + c) * CUSTOMER_ROW
        kind = draw_share(recorder)
        if kind < NEW_ORDER:
            touch(recorder, at_warehouse + w * WAREHOUSE_ROW, False)
            touch(recorder, at_district + d * DISTRICT_ROW, True)
            touch_all(recorder, customer, 128, False)
            slot = taken[d] % ORDERS
            if taken[d] - delivered[d] == ORDERS:  # the ring is full of orders that nobody delivered
                delivered[d] += 1
            order = at_orders + (d * ORDERS + slot) * order_bytes
            touch(recorder, order, True)
            number = 5 + draw(recorder, LINES - 4)
            for line in range(number):
                item = _uneven(recorder, 255, ITEMS)
                items[d, slot, line] = item
                touch_all(recorder, at_item + item * ITEM_ROW, ITEM_ROW, False)
                supplier = draw(recorder, warehouses) if draw(recorder, 100) == 0 else w
                stock = at_stock + (supplier * ITEMS + item) * STOCK_ROW
                touch_all(recorder, stock, 128, False)
                touch(recorder, stock, True)
                touch(recorder, order + ORDER_ROW + line * LINE_ROW, True)
            lines[d, slot] = number
            customers[d, slot] = c
            last_order[d, c] = taken[d]
            taken[d] += 1
            ordered += number
            done[0] += 1
        elif kind < NEW_ORDER + PAYMENT:
            touch(recorder, at_warehouse + w * WAREHOUSE_ROW, True)
            touch(recorder, at_district + d * DISTRICT_ROW, True)
            touch_all(recorder, customer, 256, False)
            touch_all(recorder, customer, 128, True)
            touch(recorder, at_history + (w * HISTORY + payments[w] % HISTORY) * HISTORY_ROW, True)
            payments[w] += 1
            done[1] += 1
        elif kind < NEW_ORDER + PAYMENT + ORDER_STATUS:
            touch_all(recorder, customer, 256, False)
            if last_order[d, c] >= 0 and taken[d] - last_order[d, c] <= ORDERS:
                slot = last_order[d, c] % ORDERS
                order = at_orders + (d * ORDERS + slot) * order_bytes
                touch_all(recorder, order, ORDER_ROW + lines[d, slot] * LINE_ROW, False)
            done[2] += 1
        elif kind < NEW_ORDER + PAYMENT + ORDER_STATUS + DELIVERY:
            for each in range(w * DISTRICTS, (w + 1) * DISTRICTS):
                if delivered[each] < taken[each]:
                    slot = delivered[each] % ORDERS
                    order = at_orders + (each * ORDERS + slot) * order_bytes
                    touch_all(recorder, order, ORDER_ROW + lines[each, slot] * LINE_ROW, True)
                    touch(recorder, at_customer + (each * CUSTOMERS + customers[each, slot]) * CUSTOMER_ROW, True)
                    delivered[each] += 1
                    fulfilled += lines[each, slot]
            done[3] += 1
        else:
            touch(recorder, at_district + d * DISTRICT_ROW, False)
            for back in range(1, min(20, taken[d]) + 1):
                slot = (taken[d] - back) % ORDERS
                order = at_orders + (d * ORDERS + slot) * order_bytes
                touch_all(recorder, order + ORDER_ROW, lines[d, slot] * LINE_ROW, False)
                for line in range(lines[d, slot]):
                    touch(recorder, at_stock + (w * ITEMS + items[d, slot, line]) * STOCK_ROW, False)
            done[4] += 1
    return ordered, fulfilled


def run_tpcc(
    recorder: Recorder, warehouses: int, at: tuple[int, ...], hot_share: float, transactions_a_move: int
) -> tuple[NDArray[np.int64], int, int]:
    """Load the tables but for orders and history, then run transactions until the recorder is full.

    `at` has the addresses of the tables that `table_sizes` lists. A share of the transactions goes to one warehouse in
    eight, which are others after every `transactions_a_move` (0: never); with 0.125 all are alike. Returns the
    transactions of each kind, the lines ordered, and the lines delivered.
    """
    districts = warehouses * DISTRICTS
    taken, delivered = np.zeros((2, districts), np.int64)
    lines, customers = np.zeros((2, districts, ORDERS), np.int64)
    items = np.zeros((districts, ORDERS, LINES), np.int64)
    last_order = np.full((districts, CUSTOMERS), -1, np.int64)
    done = np.zeros(5, np.int64)
    payments = np.zeros(warehouses, np.int64)
    state = taken, delivered, lines, customers, items, payments, last_order, done
    ordered, fulfilled = _run(recorder, warehouses, at, hot_share, transactions_a_move, state)
    return done, ordered, fulfilled
