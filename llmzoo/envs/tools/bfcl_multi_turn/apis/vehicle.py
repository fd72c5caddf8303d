"""A car: engine, doors, brakes, climate, lights, fuel, tyres and navigation."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import API, Padding, figures

_SEED = 141053
_TANK = 50  # gallons
_MILES_PER_GALLON = 20.0
_DOORS = ("driver", "passenger", "rear_left", "rear_right")
_BRAKE_NEWTONS = 1000  # of a pedal fully pressed
_PARKING_NEWTONS = 500.0
_PARKING_SLOPE = 10.0  # degrees


class VehicleControlAPI(API):
    about = "The controls of a car: engine, doors, brakes, climate, lights and navigation."

    def __init__(self, config: Mapping[str, Any], padding: Padding | None = None):
        super().__init__(config, padding)
        self._random = random.Random(config.get("random_seed", _SEED))
        self.fuelLevel = config.get("fuelLevel", 0.0)  # gallons
        self.batteryVoltage = config.get("batteryVoltage", 12.6)
        self.engine_state = config.get("engineState", "stopped")
        self.doorStatus = config.get("doorStatus", dict.fromkeys(_DOORS, "unlocked"))
        self.remainingUnlockedDoors = 4 - list(self.doorStatus.values()).count("locked")
        self.acTemperature = config.get("acTemperature", 25.0)  # Celsius
        self.fanSpeed = config.get("fanSpeed", 50)
        self.acMode = config.get("acMode", "auto")
        self.humidityLevel = config.get("humidityLevel", 50.0)  # percent
        self.headLightStatus = config.get("headLightStatus", "off")
        self.parkingBrakeStatus = config.get("parkingBrakeStatus", "released")
        self._parkingBrakeForce = config.get("parkingBrakeForce", 0.0)
        self._slopeAngle = config.get("slopeAngle", 0.0)
        self.brakePedalStatus = config.get("brakePedalStatus", "released")
        self._brakePedalForce = config.get("brakePedalForce", 0.0)
        self.distanceToNextVehicle = config.get("distanceToNextVehicle", 50.0)  # metres
        self.cruiseStatus = config.get("cruiseStatus", "inactive")
        self.destination = config.get("destination", "None")
        self.frontLeftTirePressure = config.get("frontLeftTirePressure", 32.0)  # psi
        self.frontRightTirePressure = config.get("frontRightTirePressure", 32.0)
        self.rearLeftTirePressure = config.get("rearLeftTirePressure", 30.0)
        self.rearRightTirePressure = config.get("rearRightTirePressure", 30.0)

    def _with_padding(
        self, name: str, key: str, *, first: bool, result: dict[str, Any]
    ) -> dict[str, Any]:
        """``result``, and in a long context what the padding has under ``name``, as ``key``."""
        if self._padding is None:
            return result
        added = {key: self._padding[name]}
        return {**added, **result} if first else {**result, **added}

    def startEngine(self, ignitionMode: str) -> Any:
        """Start or stop the engine. To start it all doors must be locked and the brake pedal fully pressed.

        ignitionMode: "START" or "STOP".
        """
        if ignitionMode == "STOP":
            self.engine_state = "stopped"
        if self.remainingUnlockedDoors > 0:
            unlocked = [door for door, status in self.doorStatus.items() if status == "unlocked"]
            message = (
                "All doors must be locked before starting the engine. Here are the unlocked doors: "
            )
            return {"error": message + ", ".join(unlocked)}
        if self.brakePedalStatus != "pressed":
            return {"error": "Brake pedal needs to be pressed when starting the engine."}
        if self._brakePedalForce != 1000.0:
            return {"error": "Must press the brake fully before starting the engine."}
        if self.fuelLevel < 0.0:
            return {"error": "Fuel tank is empty."}
        if ignitionMode != "START":
            return {"error": "Invalid ignition mode."}
        self.engine_state = "running"
        return {
            "engineState": self.engine_state,
            "fuelLevel": self.fuelLevel,
            "batteryVoltage": self.batteryVoltage,
        }

    def fillFuelTank(self, fuelAmount: float) -> Any:
        """Add fuel to the tank, which holds 50 gallons.

        fuelAmount: Gallons to add.
        """
        if fuelAmount < 0:
            return {"error": "Fuel amount cannot be negative."}
        if self.fuelLevel + fuelAmount > _TANK:
            return {"error": "Cannot fill gas above the tank capacity."}
        if self.fuelLevel + fuelAmount < 0.0:
            return {"error": "Fuel tank is empty. Min fuel level is 0 gallons."}
        self.fuelLevel += fuelAmount
        return {"fuelLevel": self.fuelLevel}

    def lockDoors(self, unlock: bool, door: list[str]) -> Any:
        """Lock or unlock doors.

        unlock: True to unlock them, False to lock them.
        door: The doors: any of "driver", "passenger", "rear_left" and "rear_right".
        """
        wanted, change = ("unlocked", 1) if unlock else ("locked", -1)
        for each in door:
            if self.doorStatus[each] != wanted:
                self.doorStatus[each] = wanted
                self.remainingUnlockedDoors += change
        return {"lockStatus": wanted, "remainingUnlockedDoors": self.remainingUnlockedDoors}

    def adjustClimateControl(
        self,
        temperature: float,
        unit: str = "celsius",
        fanSpeed: int = 50,
        mode: str = "auto",
    ) -> Any:
        """Set the climate in the car.

        temperature: The temperature, in Celsius unless another unit is given.
        unit: "celsius" or "fahrenheit".
        fanSpeed: Speed of the fan, from 0 to 100.
        mode: "auto", "cool", "heat" or "defrost".
        """
        if not (0 <= fanSpeed <= 100):
            return {"error": "Fan speed must be between 0 and 100."}
        self.acTemperature = temperature
        if unit == "fahrenheit":
            self.acTemperature = (temperature - 32) * 5 / 9
        self.fanSpeed = fanSpeed
        self.acMode = mode
        return {
            "currentACTemperature": temperature,
            "climateMode": mode,
            "humidityLevel": self.humidityLevel,
        }

    def get_outside_temperature_from_google(self) -> Any:
        """Ask Google for the temperature outside, in Celsius."""
        result = {"outsideTemperature": self._random.uniform(-10.0, 40.0)}
        if self._padding is None:
            return result
        return {**self._padding["LONG_WEATHER_EXTENSION"], **result}

    def get_outside_temperature_from_weather_com(self) -> Any:
        """Ask weather.com for the temperature outside, in Celsius."""
        return {"error": 404}

    def setHeadlights(self, mode: str) -> Any:
        """Switch the headlights.

        mode: "on", "off" or "auto".
        """
        if mode not in ["on", "off", "auto"]:
            return {"error": "Invalid headlight mode."}
        self.headLightStatus = "on" if mode == "on" else "off"
        return {"headlightStatus": self.headLightStatus}

    def displayCarStatus(self, option: str) -> Any:
        """Show the state of a part of the car.

        option: "fuel", "battery", "doors", "climate", "headlights", "parkingBrake", "brakePedal" or "engine".
        """
        shown: dict[str, dict[str, Any]] = {
            "fuel": {"fuelLevel": self.fuelLevel},
            "battery": {"batteryVoltage": self.batteryVoltage},
            "doors": {"doorStatus": self.doorStatus},
            "climate": {
                "currentACTemperature": self.acTemperature,
                "fanSpeed": self.fanSpeed,
                "climateMode": self.acMode,
                "humidityLevel": self.humidityLevel,
            },
            "headlights": {"headlightStatus": self.headLightStatus},
            "parkingBrake": {
                "parkingBrakeStatus": self.parkingBrakeStatus,
                "parkingBrakeForce": self._parkingBrakeForce,
                "slopeAngle": self._slopeAngle,
            },
            "brakePedal": {
                "brakePedalStatus": self.brakePedalStatus,
                "brakePedalForce": self._brakePedalForce,
            },
            "engine": {"engineState": self.engine_state},
        }
        known = isinstance(option, str) and option in shown
        result = shown[option] if known else {"error": "Invalid option"}
        return self._with_padding(
            "CAR_STATUS_METADATA_EXTENSION", "metadata", first=True, result=result
        )

    def activateParkingBrake(self, mode: str) -> Any:
        """Set the parking brake, or release it.

        mode: "engage" or "release".
        """
        if mode not in ["engage", "release"]:
            return {"error": "Invalid mode"}
        self.parkingBrakeStatus = "engaged" if mode == "engage" else "released"
        self._parkingBrakeForce = _PARKING_NEWTONS if mode == "engage" else 0.0
        self._slopeAngle = _PARKING_SLOPE
        result = {
            "parkingBrakeStatus": self.parkingBrakeStatus,
            "_parkingBrakeForce": self._parkingBrakeForce,
            "_slopeAngle": self._slopeAngle,
        }
        name, key = "PARKING_BRAKE_INSTRUCTION", "parkingBrakeInstruction"
        return self._with_padding(name, key, first=True, result=result)

    def pressBrakePedal(self, pedalPosition: float) -> Any:
        """Press the brake pedal and hold it.

        pedalPosition: From 0 (not pressed) to 1 (fully pressed).
        """
        if not (0 <= pedalPosition <= 1):
            return {"error": "Pedal position must be between 0 and 1."}
        if pedalPosition == 0:
            return self.releaseBrakePedal()
        self.brakePedalStatus = "pressed"
        self._brakePedalForce = pedalPosition * _BRAKE_NEWTONS
        return {"brakePedalStatus": "pressed", "brakePedalForce": float(self._brakePedalForce)}

    def releaseBrakePedal(self) -> Any:
        """Release the brake pedal."""
        self.brakePedalStatus = "released"
        self._brakePedalForce = 0.0
        return {"brakePedalStatus": "released", "brakePedalForce": 0.0}

    def setCruiseControl(self, speed: float, activate: bool, distanceToNextVehicle: float) -> Any:
        """Switch the cruise control on or off. The engine must run.

        speed: Miles an hour, from 0 to 120, a multiple of 5.
        activate: True for on, False for off.
        distanceToNextVehicle: Metres to keep from the car ahead.
        """
        distance, speed = float(distanceToNextVehicle), float(speed)
        if self.engine_state == "stopped":
            return {"error": "Start the engine before activating the cruise control."}
        self.distanceToNextVehicle = distance
        if activate and (speed < 0 or speed > 120 or speed % 5 != 0):
            return {"error": "Invalid speed"}
        self.cruiseStatus = "active" if activate else "inactive"
        return {
            "cruiseStatus": self.cruiseStatus,
            "currentSpeed": speed,
            "distanceToNextVehicle": distance,
        }

    def get_current_speed(self) -> Any:
        """Tell how fast the car is, in km/h."""
        return {"currentSpeed": self._random.uniform(0.0, 120.0)}

    def display_log(self, messages: list[str]) -> Any:
        """Show messages on the display.

        messages: The texts.
        """
        return {"log": messages}

    def estimate_drive_feasibility_by_mileage(self, distance: float) -> Any:
        """Tell whether the fuel suffices for a distance.

        distance: Miles to drive.
        """
        return {"canDrive": not self.fuelLevel * _MILES_PER_GALLON < distance}

    def liter_to_gallon(self, liter: float) -> Any:
        """Convert litres to gallons.

        liter: Litres.
        """
        return {"gallon": liter * 0.264172}

    def gallon_to_liter(self, gallon: float) -> Any:
        """Convert gallons to litres.

        gallon: Gallons.
        """
        return {"liter": gallon * 3.78541}

    def estimate_distance(self, cityA: str, cityB: str) -> Any:
        """Tell the distance between two cities, in km.

        cityA: Zip code of a city.
        cityB: Zip code of another city.
        """
        result: dict[str, Any] = {"error": "distance not found in database."}
        for one, other, km in figures()["distances_km"]:
            if (cityA, cityB) in ((one, other), (other, one)):
                result = {"distance": km}
        return self._with_padding(
            "INTERMEDIARY_CITIES", "intermediaryCities", first=False, result=result
        )

    def get_zipcode_based_on_city(self, city: str) -> Any:
        """Look up the zip code of a city; "00000" if it is not known.

        city: Name of the city.
        """
        codes = figures()["zip_codes"]
        return {"zipcode": codes.get(city, "00000") if isinstance(city, str) else "00000"}

    def set_navigation(self, destination: str) -> Any:
        """Set the destination of the navigation.

        destination: Street, city and state, as "street, city, state".
        """
        self.destination = destination
        return {"status": "Navigating to " + destination}

    def check_tire_pressure(self) -> Any:
        """Tell the pressure of each tyre in psi, and whether it is healthy."""
        tyres = {
            "frontLeftTirePressure": self.frontLeftTirePressure,
            "frontRightTirePressure": self.frontRightTirePressure,
            "rearLeftTirePressure": self.rearLeftTirePressure,
            "rearRightTirePressure": self.rearRightTirePressure,
        }
        front = self.frontLeftTirePressure + self.frontRightTirePressure
        mean = (front + self.rearLeftTirePressure + self.rearRightTirePressure) / 4
        info = {} if self._padding is None else self._padding["CAR_STATUS_METADATA_EXTENSION"]
        return {**tyres, "healthy_tire_pressure": 30 <= mean <= 35, "car_info": info}

    def find_nearest_tire_shop(self) -> Any:
        """Tell where the nearest tyre shop is."""
        return {"shopLocation": figures()["tire_shop"]}
