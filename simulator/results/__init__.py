"""What results have in common: tables, their columns, files, and what a notebook shows."""
