"""A service agent and a customer: the talk, the tools and the turns that telecom_v0 and airline_v0 share."""
