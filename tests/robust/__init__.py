"""The program tried as an attacker and an unlucky user would, at random but repeatably; see robustness.py."""
