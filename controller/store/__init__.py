# SPDX-License-Identifier: Apache-2.0
"""Runs and everything observed in them, kept for good.

`records` holds the plain records that everything downstream works on; `store` is the database behind them. Nothing is
imported here, so that statistics can use the records without loading a database library.
"""
