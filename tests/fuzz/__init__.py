"""Bodies and streams broken at random: whatever comes, values or our own errors."""
