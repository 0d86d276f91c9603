from .code_files import read_codes as read_codes
