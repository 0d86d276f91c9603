from .findings import Finding as Finding
from .findings import check as check
from .remedies import flip as flip
from .remedies import mark_missing as mark_missing
