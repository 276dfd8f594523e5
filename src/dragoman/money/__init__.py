"""What calls used and cost: each figure with its label, kept in a ledger."""

from dragoman.money.bill import Bill as Bill
from dragoman.money.bill import Segment as Segment
from dragoman.money.bill import bill as bill
from dragoman.money.ledger import Ledger as Ledger
from dragoman.money.prices import price_list as price_list
from dragoman.money.prices import prices as prices
from dragoman.money.totals import Totals as Totals
