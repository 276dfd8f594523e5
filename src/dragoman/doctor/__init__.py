"""The cache doctor: what moved in the prefix of consecutive requests, why, and what it cost."""

from dragoman.doctor.exam import Exam as Exam
from dragoman.doctor.exam import Finding as Finding
from dragoman.doctor.exam import examine as examine
from dragoman.doctor.load import load as load
from dragoman.doctor.sent import Sent as Sent
