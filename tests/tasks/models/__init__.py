"""Tests of the clients, each against a real server or model."""
