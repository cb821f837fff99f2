"""How the APIs are served. The programs behind them read the command line, so it stays empty."""

import os

wsgi_app = os.environ["WSGI_APP"]
bind = os.environ["WSGI_BIND"]
worker_class = "gthread"
threads = 8
timeout = 300
keepalive = 75
# Nova asks Neutron for many ports at once: URLs of up to 8 KiB; by itself gunicorn takes 4 KiB.
limit_request_line = 0
